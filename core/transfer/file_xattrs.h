// The extended attributes of files of this machine, sorted by name.
#pragma once

#include <string>

#include "core/table/inode.h"

namespace cffs {

// A file system without any has none. Of a symbolic link its own.
Xattrs xattrs_of_path(const std::string& path);
Xattrs xattrs_of_file(int fd);

}  // namespace cffs
