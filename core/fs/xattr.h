// What an inode may carry as extended attributes, whoever sets them: a call, or an import.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/error.h"
#include "core/fs/caller.h"
#include "core/table/inode.h"

namespace cffs {

inline constexpr std::size_t kXattrValueMax = 64 * 1024;
inline constexpr std::size_t kXattrsMax = 128 * 1024;  // names and values of one inode; a row is read whole

// Adds or replaces one. ACLs are checked and change the mode with them. EOPNOTSUPP: a namespace that nobody defined, or a
// list for a symlink; EACCES: a default list for what is no directory; EINVAL: a namespace without a name, or no list;
// ERANGE, E2BIG, ENOSPC: too long a name, a value, or all together; the inode may have changed then.
Status put_xattr(Inode& inode, std::string_view name, std::string_view value, const Caller& caller);

}  // namespace cffs
