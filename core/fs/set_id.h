// What a file loses when it is changed: set-id bits and capabilities do not outlive what they were given for, the owner or
// the content.
#pragma once

#include <string_view>

#include "core/fs/acl.h"
#include "core/fs/caller.h"
#include "core/fs/long_parts.h"
#include "core/table/inode.h"

namespace cffs {

// As the kernel, which leaves this to the file system: set-group-ID without group execute is a member's to keep.
inline void drop_set_id(Inode& inode, const Caller& caller) {
  if (inode.is_directory()) return;
  inode.mode &= ~static_cast<mode_t>(S_ISUID);
  if ((inode.mode & S_ISGID) == 0) return;
  const bool keeps = (inode.mode & S_IXGRP) == 0 && caller.may_set_group_id(inode.gid);
  if (!keeps) inode.mode &= ~static_cast<mode_t>(S_ISGID);
}

// Whether a change of the file may take its set-id bits before it happens: who owns the file, or may write to it, could take them by
// writing. Of anybody else, and where a list says who may write, the change itself takes them.
inline bool may_drop_set_id(const Inode& inode, const Caller& caller) {
  if (caller.is_privileged() || caller.uid() == inode.uid) return true;
  if (find_xattr(inode.xattrs, kAccessAcl) != nullptr) return false;
  const bool in_group = caller.gid() == inode.gid || caller.may_set_group_id(inode.gid);
  return (inode.mode & (in_group ? S_IWGRP : S_IWOTH)) != 0;
}

// What a caller may set as mode: set-group-ID is for the group's members. The kernel says so before a chmod; a mode that it
// sends by itself, because a change takes set-user-ID away, keeps the bit where it means nothing, and leaves it to be judged.
inline mode_t allowed_mode(mode_t wanted, gid_t group, const Caller& caller) {
  const bool may = (wanted & S_ISGID) == 0 || caller.may_set_group_id(group);
  return may ? wanted : wanted & ~static_cast<mode_t>(S_ISGID);
}

inline void drop_capabilities(Inode& inode) {
  erase_xattr(inode.xattrs, kCapability);
  if (inode.left_in_row) inode.left_in_row->has_capability = false;
}

}  // namespace cffs
