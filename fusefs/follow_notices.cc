#include "fusefs/follow_notices.h"

#include "fusefs/reply.h"
#include "fusefs/wire.h"

namespace cffs {
namespace {

constexpr std::int32_t kNotifyNewEpoch = 8;  // as in linux/fuse.h of Linux 6.16

}  // namespace

Status FollowNotices::begin() {
  if (mount_.followed == nullptr) return {};
  return mount_.followed->begin([this](const Moved& moved) { tell(moved); });
}

void FollowNotices::end() {
  if (mount_.followed != nullptr) mount_.followed->end();
}

void FollowNotices::forget_all_names() const {
  (void)notify_raw(mount_.session, kNotifyNewEpoch);
}

void FollowNotices::tell(const Moved& moved) const {
  if (moved.everything) forget_all_names();
  for (const EntryName& name : moved.names) {
    (void)fuse_lowlevel_notify_inval_entry(mount_.session, fuse::node_of(mount_, name.parent),
                                           name.name.c_str(), name.name.size());
  }
  // From the first byte on: the listing that the kernel keeps of a directory is its content.
  for (const InodeId directory : moved.listings) {
    (void)fuse_lowlevel_notify_inval_inode(mount_.session, fuse::node_of(mount_, directory), 0, 0);
  }
  for (const InodeId ino : moved.attributes) fuse::forget_attributes(mount_, ino);
}

}  // namespace cffs
