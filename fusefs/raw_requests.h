// Requests that the kernel sends and libfuse 3.14 has no operation for: TMPFILE (O_TMPFILE, Linux 6.2) and STATX (birth
// times, Linux 6.6), SYNCFS (of a block device that is mounted, Linux 6.18). They are answered before libfuse sees them, in the kernel's
// own format (linux/fuse.h). And what it does not pass on of requests that it knows.
#pragma once

#include <atomic>
#include <cstdint>

#include "fusefs/operations.h"

struct fuse_in_header;

namespace cffs {

class RawRequests {
 public:
  // `holds_end`: DESTROY, the mount's last request, ends the session and is answered by answer_end().
  RawRequests(fuse_session* session, MountContext& context, bool holds_end)
      : session_(session), context_(context), holds_end_(holds_end) {}

  // True: the request was one of these and is answered.
  bool serve(const fuse_buf& request);
  // Of the SETATTR that this thread serves: it changes the size, and who asks for it may not keep set-id bits
  // (FATTR_KILL_SUIDGID), root or not.
  static bool truncation_drops_set_id();
  // Nothing is served any more: umount(2) returns, and the kernel lets go of the device.
  void answer_end();

 private:
  void make_unnamed(const fuse_in_header& header, const void* body, std::size_t size);
  void statx(const fuse_in_header& header);

  fuse_session* session_;
  MountContext& context_;
  const bool holds_end_;
  std::atomic<std::uint64_t> end_{0};  // its number
};

}  // namespace cffs
