// Where a reply goes that a thread writes: to the device, unless what the thread serves came another way.
//
// libfuse writes each reply through one callback of the session, which knows the descriptor and nothing of the thread. So a
// thread that serves requests of a ring names its route first, as one that may block names its observer
// (core/object/blocking_section.h); every reply that this route does not know goes on to writev(2): notifications, and
// what came by the device. A reply that another thread writes than the one that serves the request is looked up among all
// routes; nobody does that on a hot path.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/error.h"

namespace cffs {

class ReplyRoute {
 public:
  virtual ~ReplyRoute() = default;

  // A whole reply, the fuse_out_header first, on the thread whose route this is. What writev(2) would return, with errno;
  // nullopt: it answers nothing that came this way.
  virtual std::optional<ssize_t> take(const iovec* pieces, int count) = 0;
  // The same on any other thread, of a session with this descriptor.
  virtual std::optional<ssize_t> take_from_elsewhere(int device, const iovec* pieces, int count) = 0;
  // Memory for a reply's data that need not be copied again; null: there is none of that size.
  virtual std::byte* room(std::size_t bytes) = 0;

  // Null removes it. The route outlives that.
  static void set_for_this_thread(ReplyRoute* route);
};

// What a thread's route is for a scope, where others may have to find it for as long.
class KnownRoute {
 public:
  explicit KnownRoute(ReplyRoute& route);
  ~KnownRoute();
  KnownRoute(const KnownRoute&) = delete;
  KnownRoute& operator=(const KnownRoute&) = delete;

 private:
  ReplyRoute& route_;
};

// As writev(2) of one whole message to the kernel, the fuse_out_header first.
ssize_t write_reply(int device, const iovec* pieces, int count);

// Memory for the data of the reply that this thread is going to write; null: the caller needs its own.
std::byte* reply_room(std::size_t bytes);

// From now on libfuse writes the replies of this session with write_reply(). The session is mounted. ENOMEM.
Status route_replies(fuse_session* session);

// The fuse_out_header's unique; 0: a notification.
std::uint64_t unique_of_reply(const iovec* pieces, int count);

}  // namespace cffs
