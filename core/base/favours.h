// A thread that does favours: work that nobody waits for, and that may as well not be done.
//
// A few wait at most; who comes when there are more is no worse off than without. The thread is made with the first; where none is
// to be had, nothing is done. Thread safety: everything.
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace cffs {

template <typename Favour>
class Favours {
 public:
  // `name`: of the thread, for messages. `work` may throw where memory is short.
  Favours(const char* name, std::function<void(const Favour&)> work) : name_(name), work_(std::move(work)) {}
  ~Favours() { stop(); }
  Favours(const Favours&) = delete;
  Favours& operator=(const Favours&) = delete;

  // Returns at once.
  void want(Favour favour) {
    const MutexLock guard(mutex_);
    if (over_ || waiting_ == kMostWaiting) return;
    if (!thread_.joinable()) {
      auto made = make_thread(name_, [this] { run(); });
      if (!made) return;
      thread_ = std::move(*made);
    }
    queue_[(first_ + waiting_++) % kMostWaiting] = std::move(favour);
    wake_.notify_one();
  }

  // For good; returns when nothing is done any more.
  void stop() {
    std::thread thread;
    std::array<Favour, kMostWaiting> left;  // what they hold is let go of behind the lock
    {
      const MutexLock guard(mutex_);
      over_ = true;
      waiting_ = 0;
      left.swap(queue_);
      thread.swap(thread_);
    }
    wake_.notify_all();
    if (thread.joinable()) thread.join();
  }

 private:
  static constexpr std::size_t kMostWaiting = 8;

  void run() {
    MutexLock guard(mutex_);
    for (;;) {
      while (waiting_ == 0 && !over_) wake_.wait(mutex_);
      if (over_) return;
      Favour favour = std::exchange(queue_[first_], {});
      first_ = (first_ + 1) % kMostWaiting;
      --waiting_;
      guard.unlock();
      try {
        work_(favour);
      } catch (const std::exception&) {  // no memory: it was a favour
      }
      favour = {};  // not under the lock, either
      guard.lock();
    }
  }

  const char* const name_;
  const std::function<void(const Favour&)> work_;
  Mutex mutex_;  // leaf
  CondVar wake_;
  std::array<Favour, kMostWaiting> queue_ CFFS_GUARDED_BY(mutex_);  // a ring
  std::size_t first_ CFFS_GUARDED_BY(mutex_) = 0, waiting_ CFFS_GUARDED_BY(mutex_) = 0;
  bool over_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
