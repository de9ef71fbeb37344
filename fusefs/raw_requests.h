// Requests that the kernel sends and libfuse 3.14 has no operation for: TMPFILE (O_TMPFILE, Linux 6.2) and STATX (birth
// times, Linux 6.6). They are answered before libfuse sees them, in the kernel's own format (linux/fuse.h).
#pragma once

#include "fusefs/operations.h"

namespace cffs {

class RawRequests {
 public:
  RawRequests(fuse_session* session, MountContext& context) : session_(session), context_(context) {}

  // True: the request was one of these and is answered.
  bool serve(const fuse_buf& request);

 private:
  struct Header;
  void make_unnamed(const Header& header, const void* body, std::size_t size);
  void statx(const Header& header);
  void reply(std::uint64_t unique, int error, const void* payload, std::size_t size);

  fuse_session* session_;
  MountContext& context_;
};

}  // namespace cffs
