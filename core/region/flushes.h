// What the flushes of one open device have come to, together.
//
// The kernel tells an open file once of a writeback that failed, and drops the pages: of two flushes at the same time one hears of it,
// of those that follow none. So the first failure stays, and a flush that found nothing amiss ends only when all have ended that were
// under way beside it: one of them may have heard what was this one's to hear.
#pragma once

#include <cstdint>
#include <set>

#include "core/base/mutex.h"

namespace cffs {

class Flushes {
 public:
  using Turn = std::uint64_t;

  // Before the kernel is asked.
  Turn begin() {
    const MutexLock guard(mutex_);
    under_way_.insert(next_);
    return next_++;
  }
  // After it has answered: errno, or 0. What does not promise anything does not wait.
  void end(Turn turn, int answer) {
    const MutexLock guard(mutex_);
    note(turn, answer);
  }
  // The same; returns the errno of the first that failed, whoever heard of it, or 0.
  int end_and_ask(Turn turn, int answer) {
    const MutexLock guard(mutex_);
    note(turn, answer);
    const Turn later = next_;
    while (failed_ == 0 && !under_way_.empty() && *under_way_.begin() < later) ended_.wait(mutex_);
    return failed_;
  }
  int failed() const {
    const MutexLock guard(mutex_);
    return failed_;
  }

 private:
  void note(Turn turn, int answer) CFFS_REQUIRES(mutex_) {
    if (failed_ == 0) failed_ = answer;
    under_way_.erase(turn);
    ended_.notify_all();
  }

  mutable Mutex mutex_;  // leaf
  CondVar ended_;
  Turn next_ CFFS_GUARDED_BY(mutex_) = 0;
  std::set<Turn> under_way_ CFFS_GUARDED_BY(mutex_);
  int failed_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
