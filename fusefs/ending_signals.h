// The signals that end a mount in good order: SIGINT, SIGTERM, SIGHUP.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "core/base/error.h"

namespace cffs {

sigset_t ending_signals();
// From now on they wait for who takes them; to be called before the first thread is made.
void block_ending_signals();
// Whether one waits that nobody has taken yet.
bool ending_signal_waits();

// Takes them, and calls `end` for each.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void()> end) : end_(std::move(end)) {}
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  // EAGAIN: there is no thread to be had.
  Status begin();

 private:
  void watch();

  const std::function<void()> end_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace cffs
