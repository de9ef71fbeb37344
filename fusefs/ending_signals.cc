#include "fusefs/ending_signals.h"

#include "core/base/thread.h"

namespace cffs {

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, s);
  return signals;
}

void block_ending_signals() {
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool ending_signal_waits() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return false;
  return sigismember(&waiting, SIGINT) == 1 || sigismember(&waiting, SIGTERM) == 1 ||
         sigismember(&waiting, SIGHUP) == 1;
}

Status SignalWatch::begin() {
  CFFS_TRY(thread_, make_thread("the thread that waits for signals", [this] { watch(); }));
  return {};
}

SignalWatch::~SignalWatch() {
  done_.store(true);
  if (thread_.joinable()) thread_.join();
}

void SignalWatch::watch() {
  const sigset_t signals = ending_signals();
  while (!done_.load()) {
    const timespec wait{0, 200'000'000};
    if (::sigtimedwait(&signals, nullptr, &wait) > 0) end_();
  }
}

}  // namespace cffs
