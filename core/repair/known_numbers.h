// Numbers that rows name, and whether a name is still nobody's. For who makes rows for what has lost them.
#pragma once

#include <unordered_set>

#include "core/fs/check_name.h"
#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/table/row.h"
#include "core/table/table.h"

namespace cffs {

struct KnownNumbers {
  std::unordered_set<std::uint64_t>
      all;  // inodes that have a row, or await their removal; composites that have one
  std::unordered_set<std::uint64_t> directories;

  void note(const Inode& inode) {
    all.insert(inode.ino.value);
    if (inode.is_directory()) directories.insert(inode.ino.value);
  }
  bool contains(InodeId ino) const { return all.contains(ino.value); }
  // A directory without a row gets one behind this; any other file is none.
  Result<bool> is_free(FileSystem& fs, const EntryName& at) const {
    const bool may = directories.contains(at.parent.value) || at.parent == kRootInode || !contains(at.parent);
    if (!may || !check_new_name(at.name)) return false;
    CFFS_TRY(const Row row, fs.table().get_row(fs.rehousing().entry_key(at)));
    return row.find(at.name) == nullptr;
  }
};

}  // namespace cffs
