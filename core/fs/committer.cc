#include "core/fs/committer.h"

#include <chrono>
#include <cstdint>

#include "core/base/thread.h"

namespace cffs {

Result<std::unique_ptr<Committer>> Committer::begin(std::int64_t interval_ms, std::function<void()> commit) {
  std::unique_ptr<Committer> committer(new Committer(interval_ms, std::move(commit)));
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

void Committer::run() {
  MutexLock guard(mutex_);
  while (!stopping_) {
    const auto due = std::chrono::steady_clock::now() + std::chrono::milliseconds(interval_ms_);
    while (!stopping_ && wake_.wait_until(mutex_, due)) {
    }
    if (stopping_) break;
    guard.unlock();
    commit_();
    guard.lock();
  }
}

}  // namespace cffs
