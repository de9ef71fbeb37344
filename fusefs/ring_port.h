// The io_uring of one thread, with one entry of a FUSE queue: requests come in through it and replies go out, each pair in
// one system call.
//
// Everything is to be called on the thread that opened it.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <memory>

#include "core/base/error.h"
#include "fusefs/ring_message.h"

namespace cffs {

class RingPort {
 public:
  enum class Event {
    request,  // one is in the message
    stopped,  // somebody made the stop event readable
    ended,    // the mount is over
    lost,     // the kernel refuses the entry, which it has forgotten: register anew
  };

  // `device`: the session's descriptor. `stop_event`: an eventfd that ends every wait. EPERM, ENOSYS: io_uring is not to be
  // used here; EMFILE, ENOMEM.
  static Result<std::unique_ptr<RingPort>> open(int device, int stop_event);
  ~RingPort();
  RingPort(const RingPort&) = delete;
  RingPort& operator=(const RingPort&) = delete;

  // The entry, with the message that it keeps, may get requests of this queue. The message outlives the port. The kernel's errno;
  // then, if this was before its first request, the mount goes on by the device.
  Status register_entry(std::uint16_t queue, const RingMessage& message);
  // Tells the kernel, by an entry that it cannot take, that there will be no ring. Only before the first request.
  bool withdraw(const RingMessage& message);
  // The reply in the message, sealed, is sent when next is waited.
  void commit(std::uint16_t queue, std::uint64_t commit_id);
  Event wait();

 private:
  RingPort() = default;
  io_uring_sqe* command(RingCommandKind kind, std::uint16_t queue, std::uint64_t commit_id);
  Status submit_entry(std::uint16_t queue, const RingMessage& message);
  Event meaning(const io_uring_cqe& completion) const;

  io_uring ring_{};
  bool is_open_ = false;
};

}  // namespace cffs
