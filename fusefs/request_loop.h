// Receives FUSE requests and serves them, with as few wake-ups as possible.
//
// Waking a sleeping thread is half the price of a request (docs/PERFORMANCE.md). So one thread, the leader,
// receives and serves in turn; between requests it spins for a moment on the non-blocking device before it
// sleeps in poll(). When an operation is about to wait for a device (BlockingObserver), the leader first
// hands its role to another thread, so that a slow request never holds up a fast one. Nobody is woken
// otherwise.
//
// A device that answers within the time of a few wake-ups is not slept for (adr/0039): requests that only read are parked until their
// answer is there, and the leader looks for that between others.
//
// Spinning pays only where the next request comes soon: the leader gives it up after a few fruitless tries
// and takes it up again when requests come in quick succession. An idle mount sleeps.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/object/blocking_section.h"
#include "fusefs/parked_requests.h"
#include "fusefs/short_waits.h"

namespace cffs {

class RequestLoop {
 public:
  // At most `threads` requests are served at a time.
  // `intercept` sees each request before libfuse does and may answer it itself (true).
  RequestLoop(fuse_session* session, unsigned threads,
              std::function<bool(const fuse_buf&)> intercept = nullptr)
      : session_(session), most_threads_(threads), intercept_(std::move(intercept)) {}
  ~RequestLoop();
  // Returns when the file system is unmounted or stop() was called. 0, or an errno.
  int run();
  // From any thread, also from a signal handler's companion.
  void stop();
  // From any thread: from now on only FORGET and INTERRUPT come by the device (ring_transport.h). Nobody waits for them, so
  // they are gathered for a moment, and their coming wakes nobody meanwhile.
  void expect_little() { expects_little_ = true; }

 private:
  class Worker;
  enum class Received { request, end, role_is_gone, no_memory };

  void work();
  Received receive(Worker& self, fuse_buf& buffer, int& spin_credit);
  void hand_over();
  void join_workers();

  fuse_session* session_;
  std::atomic<bool> expects_little_{false};
  const unsigned most_threads_;
  const std::function<bool(const fuse_buf&)> intercept_;
  // The leader's.
  ShortWaits short_waits_;
  ParkedRequests parked_{short_waits_};
  Mutex mutex_;
  CondVar role_free_;
  bool has_leader_ CFFS_GUARDED_BY(mutex_) = false;
  unsigned waiting_ CFFS_GUARDED_BY(mutex_) = 0;
  bool over_ CFFS_GUARDED_BY(mutex_) = false;
  int problem_ CFFS_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
