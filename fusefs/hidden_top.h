// A top directory above the store's root, which nobody sees.
//
// The kernel makes a FUSE mount's root inode before it knows that the daemon wants ACLs, and so never caches that inode's
// ACL: every path that somebody walks who does not own the root would cost a request. Inodes made later are cached. So the
// kernel's root is a directory that holds nothing but the store's root, and the latter is what is mounted: once
// requests are served, the mount point is given a clone of that subtree instead (open_tree(2), Linux 5.2).
#pragma once

#include <string>

#include "core/base/error.h"
#include "fusefs/operations.h"

namespace cffs {

class HiddenTop {
 public:
  HiddenTop(fuse_session* session, const MountContext& context) : session_(session), context_(context) {}

  // Whether the system lets us put one in place.
  static bool possible();

  // True: the request was for the top and is answered.
  bool serve(const fuse_buf& request) const;
  // Mounts the store's root in place of the top. The session must be served meanwhile, by another thread.
  static Status step_down(const std::string& mount_point);

 private:
  fuse_session* session_;
  const MountContext& context_;
};

}  // namespace cffs
