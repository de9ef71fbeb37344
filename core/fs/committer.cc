#include "core/fs/committer.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/thread.h"
#include "core/base/within_memory.h"

namespace cffs {

Result<std::unique_ptr<Committer>> Committer::begin(std::int64_t interval_ms, std::function<void()> commit,
                                                    std::function<void()> settle,
                                                    std::function<void()> look) {
  std::unique_ptr<Committer> committer(
      new Committer(interval_ms, std::move(commit), std::move(settle), std::move(look)));
  CFFS_TRY(committer->thread_,
           make_thread("the thread that commits", [self = committer.get()] { self->run(); }));
  return committer;
}

Committer::~Committer() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Committer::settle_soon() {
  {
    const MutexLock guard(mutex_);
    settles_ = true;
  }
  wake_.notify_all();
}

// However often there is something to settle, the commit comes when it is due, or as soon as what was begun before is settled.
void Committer::run() {
  using Steady = std::chrono::steady_clock;
  constexpr std::chrono::seconds kBetweenLooks{1};
  const auto interval = std::chrono::milliseconds(interval_ms_);
  MutexLock guard(mutex_);
  for (auto due = Steady::now() + interval; !stopping_;) {
    const auto look = std::min(due, Steady::now() + kBetweenLooks);
    while (!stopping_ && !settles_ && wake_.wait_until(mutex_, look)) {
    }
    if (stopping_) break;
    const bool settles = std::exchange(settles_, false);
    const bool is_due = Steady::now() >= due;
    guard.unlock();
    // What memory ran out in is done, or tried again, with the next commit.
    (void)within_memory([&]() -> Status {
      is_due ? commit_() : settles ? settle_() : look_();
      return {};
    });
    if (is_due) due = Steady::now() + interval;
    guard.lock();
  }
}

}  // namespace cffs
