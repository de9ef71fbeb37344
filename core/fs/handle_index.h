// From an inode number to a name, for file handles (NFS, open_by_handle_at) of files that nobody refers to any more.
//
// The table is ordered by names, and a row for each number would cost every create a write that hardly anybody uses. So
// an unknown number costs one scan of the names, which remembers all numbers near it: files made together are asked for
// together. What is remembered is a hint, to be checked in the table.
#pragma once

#include <optional>
#include <vector>

#include "core/base/mutex.h"
#include "core/table/row_locks.h"
#include "core/table/table.h"

namespace cffs {

class HandleIndex {
 public:
  static constexpr std::uint64_t kWindow = 1u << 20;  // numbers to either side

  HandleIndex(const Table& table, const RowLocks& locks) : table_(table), locks_(locks) {}

  // The key of a row with a name of this inode, by the last scan or, `anew` or where that did not cover it, by another.
  // nullopt: no such inode. `current` tells that the table has not changed since, so that asking again is in vain.
  Result<std::optional<Key>> find(InodeId ino, bool anew, bool& current);

 private:
  struct Named {
    InodeId ino;
    Key key;
  };
  Status scan(InodeId ino) CFFS_REQUIRES(mutex_);

  const Table& table_;
  const RowLocks& locks_;
  Mutex mutex_;  // held during a scan; whoever asks holds nothing else
  // By number; a file with several names has one of them.
  std::vector<Named> names_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t first_ CFFS_GUARDED_BY(mutex_) = 1;
  std::uint64_t last_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t epoch_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
