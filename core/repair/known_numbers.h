// Numbers that rows name, and whether a name is still nobody's. For who makes rows for what has lost them.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

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
  // Those of the wanted names that are free join the others.
  Status add_free(FileSystem& fs, const std::vector<EntryName>& wanted, std::vector<EntryName>& names) const {
    for (const EntryName& name : wanted) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      CFFS_TRY(const bool free, is_free(fs, name));
      if (free) names.push_back(name);
    }
    return {};
  }
};

}  // namespace cffs
