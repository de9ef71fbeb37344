// Requests that the kernel sends and libfuse 3.14 has no operation for: TMPFILE (O_TMPFILE, Linux 6.2) and STATX (birth
// times, Linux 6.6). They are answered before libfuse sees them, in the kernel's own format (linux/fuse.h).
#pragma once

#include "fusefs/operations.h"

struct fuse_in_header;

namespace cffs {

class RawRequests {
 public:
  RawRequests(fuse_session* session, MountContext& context) : session_(session), context_(context) {}

  // True: the request was one of these and is answered.
  bool serve(const fuse_buf& request);

 private:
  void make_unnamed(const fuse_in_header& header, const void* body, std::size_t size);
  void statx(const fuse_in_header& header);

  fuse_session* session_;
  MountContext& context_;
};

}  // namespace cffs
