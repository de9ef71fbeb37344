#include "core/fs/committer.h"

#include <chrono>
#include <cstdint>

namespace cffs {

Committer::Committer(std::int64_t interval_ms, std::function<void()> commit)
    : interval_ms_(interval_ms), commit_(std::move(commit)), thread_([this] { run(); }) {}

Committer::~Committer() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
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
