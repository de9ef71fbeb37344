// Files with an object of their own that have just lost their last name while somebody refers to them. Mostly that is the kernel, for
// a moment: it gives its reference back by a message of its own (FORGET), after who removed the file was answered. That one may want the
// room at once, so who is short of it waits here for those messages; not for who goes on using such a file.
//
// Any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/mutex.h"

namespace cffs {

class PartingFiles {
 public:
  // Of more that go at once the last are awaited.
  static constexpr std::size_t kAwaited = 64;

  // Who has had a file for a `moment` without a name uses it.
  explicit PartingFiles(std::chrono::milliseconds moment) : moment_(moment) {}

  void lost_name(InodeId ino);
  // Nobody refers to it any more, and its removal is due.
  void went(InodeId ino);
  // Returns when all have gone that lost their names within the last moment, or a moment has passed, however many lose theirs meanwhile.
  // False: nothing went.
  // To be called without locks.
  bool await();

 private:
  using Steady = std::chrono::steady_clock;
  struct Parting {
    InodeId ino;
    Steady::time_point until;  // passed: nobody waits for it
  };
  Steady::time_point last() const CFFS_REQUIRES(mutex_);

  const std::chrono::milliseconds moment_;
  Mutex mutex_;  // leaf
  CondVar gone_;
  std::array<Parting, kAwaited> files_ CFFS_GUARDED_BY(mutex_) = {};
  std::size_t next_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t went_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
