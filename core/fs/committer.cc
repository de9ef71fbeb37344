#include "core/fs/committer.h"

#include <chrono>
#include <cstdint>

#include "core/base/thread.h"

namespace cffs {

Result<std::unique_ptr<Committer>> Committer::begin(std::int64_t interval_ms, std::function<void()> commit,
                                                    std::function<void()> settle) {
  std::unique_ptr<Committer> committer(new Committer(interval_ms, std::move(commit), std::move(settle)));
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
  const auto interval = std::chrono::milliseconds(interval_ms_);
  MutexLock guard(mutex_);
  for (auto due = Steady::now() + interval; !stopping_;) {
    while (!stopping_ && !settles_ && wake_.wait_until(mutex_, due)) {
    }
    if (stopping_) break;
    settles_ = false;
    guard.unlock();
    if (Steady::now() < due) {
      settle_();
    } else {
      commit_();
      due = Steady::now() + interval;
    }
    guard.lock();
  }
}

}  // namespace cffs
