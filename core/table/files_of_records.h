// The rows of one composite's records that say whose they are, or where their files went (member_files.h).
#pragma once

#include <cstdint>
#include <map>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/table/member_files.h"

namespace cffs {

class Table;

// By slot. Rows that cannot be decoded are left out: whoever reads all rows tells of them.
Result<std::map<std::uint32_t, MemberFiles>> files_of_records(const Table& table, CompositeId id);

}  // namespace cffs
