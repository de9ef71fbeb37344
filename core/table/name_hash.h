// The hash in an entry's key: XXH3-64 of the name's bytes.
#pragma once

#include "core/base/checksum.h"
#include "core/table/key.h"

namespace cffs {

inline std::uint64_t default_name_hash(std::string_view name) { return checksum(name); }

}  // namespace cffs
