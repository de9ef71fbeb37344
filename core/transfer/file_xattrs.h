// The extended attributes of files of this machine, sorted by name.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/table/inode.h"

namespace cffs {

// A file system without any has none, and so has what the caller may not see. Of a symbolic link its own. An error: there may be some,
// and it has no word of what they are of.
Result<Xattrs> xattrs_of_path(const std::string& path);
Result<Xattrs> xattrs_of_file(int fd);

}  // namespace cffs
