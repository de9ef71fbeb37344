// A job of a mount, in a thread of its own: one at a time, which ends when it is done, is told to stop, or its owner goes.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/base/mutex.h"

namespace cffs {

class JobThread {
 public:
  // How it stands: "idle" | "running" | "done" | "stopped" | "failed", and why it failed.
  struct State {
    std::string state = "idle";
    std::string error;
  };

  // `what`: "a scrub", for messages.
  explicit JobThread(std::string what) : what_(std::move(what)) {}
  ~JobThread() { stop(); }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Calls `begin`, then `run` in the thread, which says how it ended (where memory runs out in it, it has failed); returns at once. EBUSY:
  // one is under way; EAGAIN, ENOMEM: no thread is to be had.
  Status start(const std::function<void()>& begin, std::function<State()> run);
  // The same in the caller's thread, for what is done also where no other is to be had; returns when it is done.
  Status run_here(const std::function<void()>& begin, const std::function<State()>& run);
  // Returns when it has ended, if there is one.
  void stop();
  // For `run` to ask.
  bool go_on() const { return !stopping_.load(std::memory_order_relaxed); }
  State state() const;

 private:
  Status prepare(const std::function<void()>& begin) CFFS_REQUIRES(control_);
  static State outcome(const std::function<State()>& run);
  void become(State state);

  const std::string what_;
  Mutex control_;  // one start or stop at a time; before mutex_
  std::thread thread_ CFFS_GUARDED_BY(control_);
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;  // rank 6
  State state_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
