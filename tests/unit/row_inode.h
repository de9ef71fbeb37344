// A file of the root as its row has it.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"

namespace cffs::test {

inline Inode row_inode(FileSystem& fs, const std::string& name) {
  const auto file = fs.lookup(kRootInode, name);
  REQUIRE(file);
  const auto found = fs.rehousing().find({kRootInode, name}, file->ino);
  fs.forget(file->ino, 1);
  REQUIRE((found && *found));
  return (*found)->inode;
}

}  // namespace cffs::test
