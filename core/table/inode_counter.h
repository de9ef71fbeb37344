// The store's number counter (TableFS §3.4): inode and composite numbers, each given out once, ever.
//
// A durable row holds the first number not yet reserved. Numbers are reserved in runs: the row is moved and
// synced before the first number of a run is used, so no crash and no power cut can turn the counter back. A
// clean close gives the unused rest of the run back.
#pragma once

#include <atomic>

#include "core/base/mutex.h"
#include "core/table/table.h"

namespace cffs {

class InodeCounter {
 public:
  static constexpr std::uint64_t kRun = 65536;

  explicit InodeCounter(Table& table) : table_(table) {}
  // Reads the row; a new table starts at kFirstInode. `corruption`: the row is malformed, or gone from a table that is not new. `only_looks`:
  // then it starts at kFirstInode, too, for who asks for no number, or raises it before the first.
  Status load(bool only_looks = false);
  // No number below is given out from now on; durable on return.
  Status raise(std::uint64_t first);
  Result<std::uint64_t> next();
  std::uint64_t peek() const { return next_.load(); }  // the next number, unless somebody takes it
  // No next() may follow.
  Status close();

 private:
  Status reserve(std::uint64_t first_unreserved) CFFS_REQUIRES(mutex_);

  Table& table_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> limit_{0};  // read without the mutex, changed under it
  Mutex mutex_;
};

}  // namespace cffs
