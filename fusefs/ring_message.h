// The memory that one entry of a ring shares with the kernel: a request, then its reply.
//
// The kernel puts a request's three parts into three places (ring_wire.h); libfuse, and all that looks at requests here,
// wants them one behind the other as read(2) from the device gives them. So there is room in front of the payload, and the two
// short parts are copied there; a write's data stay where the kernel put them.
//
// Invariant: nothing of a request is overwritten before seal(). A reply to a request that has a payload is kept aside until
// then, since whoever replies may still look at the names that it came with.
//
// Thread-safety: none; one thread has it, or the kernel, from seal() until the next request is there.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "fusefs/ring_wire.h"

namespace cffs {

class RingMessage {
 public:
  // The kernel wants `payload_bytes` as large as the largest request and reply. ENOMEM.
  static Result<RingMessage> make(std::size_t payload_bytes);
  RingMessage(RingMessage&& other) noexcept;
  RingMessage& operator=(RingMessage&&) = delete;
  ~RingMessage();

  // What the entry is registered with: the header and the payload.
  const iovec* buffers() const { return buffers_; }

  // The request that the kernel has put there, whole, until the next one; nullopt: its lengths contradict each other.
  std::optional<fuse_buf> open();
  // Of the request that is there: what the reply is known by, and the commit.
  std::uint64_t unique() const { return unique_; }
  std::uint64_t commit_id() const { return header().entry.commit_id; }

  // Where a reply's data can be put at once; null: not here, or not as many.
  std::byte* room(std::size_t bytes);
  // The reply: a fuse_out_header and its data. EMSGSIZE: more than there is room for, and nothing was taken.
  Status answer(const iovec* pieces, int count);
  // The reply is an errno.
  void answer_error(int error);
  // After the answer: from here on the reply is where the kernel looks for it, and the request is gone.
  void seal();

 private:
  RingMessage(std::byte* memory, std::size_t payload_bytes);
  RingHeader& header() const { return *reinterpret_cast<RingHeader*>(memory_); }

  std::byte*
      memory_;  // a page: the header, and at its end the room in front of the payload; then the payload
  std::byte* payload_;
  std::size_t payload_bytes_;
  iovec buffers_[2];
  std::uint64_t unique_ = 0;
  std::size_t request_bytes_ = 0;  // of the payload that are the request's
  std::uint32_t reply_bytes_ = 0;
  std::vector<std::byte> aside_;  // the reply's data, where they wait for seal()
};

}  // namespace cffs
