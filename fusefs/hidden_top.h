// A top directory above the store's root, which nobody sees.
//
// The kernel makes a FUSE mount's root inode before it knows that the daemon wants ACLs, and so never caches that inode's
// ACL: every path that somebody walks who does not own the root would cost a request. Inodes made later are cached. So the
// kernel's root is a directory that holds nothing but the store's root, and the latter is what is mounted: once
// requests are served, the mount point is given a clone of that subtree instead (open_tree(2), Linux 5.2).
//
// Who looks for the mount while it is made finds the top, in which none of the store's names are: a program that waits until something is
// mounted, and then looks for its files, would be told that they are gone. So nobody learns of the top's attributes, without which no
// path goes through it, until the clone is in place; ESTALE then has the kernel walk the path again, to the store's root. Over a
// ring (ring_crew.h) they do, and are told ESTALE where they look up a name: the second walk may still come too early.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "fusefs/operations.h"

namespace cffs {

class HiddenTop {
 public:
  HiddenTop(fuse_session* session, const MountContext& context) : session_(session), context_(context) {}

  // Whether the system lets us put one in place.
  static bool possible();

  // True: the request was for the top and is answered, or will be when the top has stepped down.
  bool serve(const fuse_buf& request);
  // Mounts the store's root in place of the top. The session must be served meanwhile, by another thread.
  Status step_down(const std::string& mount_point);

 private:
  Status replace(const std::string& mount_point);
  // False: `task` may be told of the top.
  bool has_to_wait(std::uint64_t unique, pid_t task);
  void let_go();

  fuse_session* session_;
  const MountContext& context_;
  Mutex mutex_;
  pid_t stepper_ CFFS_GUARDED_BY(mutex_) = 0;  // the thread that has to pass through the top
  bool is_replaced_ CFFS_GUARDED_BY(mutex_) = false;
  std::vector<std::uint64_t> waiting_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
