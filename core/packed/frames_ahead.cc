#include "core/packed/frames_ahead.h"

#include <exception>
#include <utility>

#include "core/base/thread.h"

namespace cffs {

void FramesAhead::want(PackedObject::Ahead ahead) {
  const MutexLock guard(mutex_);
  if (over_ || waiting_ == kMostWaiting) return;
  if (!thread_.joinable()) {
    auto made = make_thread("a thread that decompresses", [this] { work(); });
    if (!made) return;
    thread_ = std::move(*made);
  }
  queue_[(first_ + waiting_++) % kMostWaiting] = std::move(ahead);
  wake_.notify_one();
}

void FramesAhead::stop() {
  std::thread thread;
  {
    const MutexLock guard(mutex_);
    over_ = true;
    thread.swap(thread_);
  }
  wake_.notify_all();
  if (thread.joinable()) thread.join();
  std::array<PackedObject::Ahead, kMostWaiting> left;
  const MutexLock guard(mutex_);
  left.swap(queue_);  // their handles go behind the lock
  waiting_ = 0;
}

void FramesAhead::work() {
  MutexLock guard(mutex_);
  for (;;) {
    while (waiting_ == 0 && !over_) wake_.wait(mutex_);
    if (over_) return;
    PackedObject::Ahead wanted = std::exchange(queue_[first_], {});
    first_ = (first_ + 1) % kMostWaiting;
    --waiting_;
    guard.unlock();
    try {
      PackedObject::make_ready(wanted);
    } catch (const std::exception&) {  // no memory: it was a favour
    }
    wanted = {};  // perhaps the last handle: not under the lock
    guard.lock();
  }
}

}  // namespace cffs
