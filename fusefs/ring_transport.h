// A mount's requests over io_uring: from what INIT agrees on to the end of the threads that serve.
//
// make() comes behind the mounting and before the first request; who answers INIT adds addition() to it, and says so. What
// cannot be had before INIT is answered is an error of make(), and the mount goes on by the device; behind it the kernel waits
// for the ring, and must be told where it does not come (RingCrew::begin()).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "fusefs/connection.h"
#include "fusefs/init_reply.h"
#include "fusefs/ring_crew.h"

namespace cffs {

class RingTransport {
 public:
  struct Setup {
    fuse_session* session = nullptr;
    unsigned threads = 16;                   // as RingCrewSetup::most_threads
    std::size_t payload_bytes = kMostWrite;  // less than the kernel's largest request: it refuses the ring
    std::function<void(const fuse_buf&)> serve;
    std::function<void()> on_breakdown;
    // INIT was answered and the kernel has taken or refused the ring, which then is the error.
    std::function<void(const Status&)> on_agreed;
  };
  // EPERM, ENOSYS, EMFILE, ENOMEM, EAGAIN: the system gives us no io_uring, or no thread.
  static Result<std::unique_ptr<RingTransport>> make(Setup setup);

  // What the reply to INIT says of the ring.
  InitAddition addition();
  // With or without it.
  void init_is_answered();
  // Whether requests come by the ring.
  bool is_active() const { return active_.load(); }
  // Ends the threads; behind the loop that reads the device.
  void end();

 private:
  explicit RingTransport(Setup setup) : setup_(std::move(setup)) {}
  void agreed(const Status& status);

  Setup setup_;
  std::unique_ptr<RingCrew> crew_;
  bool has_agreed_ = false;
  std::atomic<bool> active_{false};
};

}  // namespace cffs
