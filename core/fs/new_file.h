// A small file that an import brings along, contents and all.
#pragma once

#include <string>

#include "core/table/inode.h"

namespace cffs {

struct NewFile {
  InodeId parent;
  std::string name;
  Inode inode;  // mode, owner, times, xattrs; number, size and home are set when it is loaded
  std::string content;
};

}  // namespace cffs
