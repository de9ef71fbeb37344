// Tells the kernel what a move to the next checkpoint has changed (core/follow): names, listings and attributes that it must ask for
// again. What it caches of files' contents stays, for a file whose content has changed is another inode.
//
// Called by the thread that follows, never by one that serves requests: the kernel waits for requests under way in the same directory.
#pragma once

#include "core/follow/followed_file_system.h"
#include "fusefs/operations.h"

namespace cffs {

class FollowNotices {
 public:
  explicit FollowNotices(const MountContext& mount) : mount_(mount) {}
  ~FollowNotices() { end(); }
  FollowNotices(const FollowNotices&) = delete;
  FollowNotices& operator=(const FollowNotices&) = delete;
  // EAGAIN: there is no thread to be had. Nothing where the mount does not follow.
  Status begin();
  // While requests are still served: the kernel may wait for one before it takes a notice.
  void end();

 private:
  void tell(const Moved& moved) const;
  // Every name, also those that led nowhere. Linux 6.16; before it those that were looked up in vain stay unknown until the mount's end.
  void forget_all_names() const;

  const MountContext& mount_;
};

}  // namespace cffs
