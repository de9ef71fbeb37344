// What tells a store in a Ceph pool from all others, also from one of that name before it: attribute `id` of its head.
#pragma once

#include <string>

#include "core/rados/pool.h"

namespace cffs::rados {

// Another one than it had.
Status give_id(const Pool& pool, const std::string& head);
// 32 hexadecimal digits. Stores that were made before there was one get it from the first who asks and may write; `usage`: who asks may not.
// `known`: of the head.
Result<std::string> id_of(const Pool& pool, const std::string& head, const Pool::Stat& known, bool read_only);

}  // namespace cffs::rados
