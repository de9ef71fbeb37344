// What an inode may carry as extended attributes, whoever sets them: a call, or an import.
#pragma once

#include "core/fs/file_system.h"

namespace cffs {

// Adds or replaces one. ACLs are checked and change the mode with them. EOPNOTSUPP: a namespace that nobody defined; EINVAL: a
// namespace without a name, or no list; ERANGE, E2BIG, ENOSPC: too long a name, a value, or all together; the inode may have
// changed then.
Status put_xattr(Inode& inode, std::string_view name, std::string_view value, const Caller& caller);

}  // namespace cffs
