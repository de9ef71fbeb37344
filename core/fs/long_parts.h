// The long parts of an inode, a symlink's target and attributes: whoever only remembers an inode leaves them in its row.
//
// Any user can have the kernel, and so us, remember as many inodes as there are; what each costs must not be for the user to
// say. What fits stays in memory: an ACL, a label, capabilities, and to know that there is nothing costs no look.
#pragma once

#include "core/table/inode.h"

namespace cffs {

inline constexpr std::string_view kCapability = "security.capability";

// Bytes of target and attributes that are remembered; an attribute counts for its two strings too.
inline constexpr std::size_t kRememberedBytes = 512;

inline std::size_t bytes_of(const Xattrs& xattrs) {
  std::size_t total = 0;
  for (const auto& [name, value] : xattrs) total += name.size() + value.size();
  return total;
}

inline bool has_long_parts(const Inode& inode) {
  return inode.target.size() + bytes_of(inode.xattrs) + inode.xattrs.size() * sizeof(Xattrs::value_type) >
         kRememberedBytes;
}

inline bool has_capability(const Inode& inode) {
  return inode.left_in_row ? inode.left_in_row->has_capability
                           : find_xattr(inode.xattrs, kCapability) != nullptr;
}

// As a node remembers it.
inline void leave_long_parts(Inode& inode) {
  if (inode.left_in_row || !has_long_parts(inode)) return;
  Inode::LeftInRow left;
  left.target_bytes = inode.target.size();
  left.bytes = inode.target.size() + bytes_of(inode.xattrs);
  left.has_capability = has_capability(inode);
  inode.left_in_row = left;
  inode.target = std::string();
  inode.xattrs = Xattrs();
}
inline Inode remembered(Inode inode) {
  leave_long_parts(inode);
  return inode;
}

// The whole inode again; `row` is what its row has.
inline void take_long_parts(Inode& inode, const Inode& row) {
  if (!inode.left_in_row) return;
  inode.target = row.target;
  inode.xattrs = row.xattrs;
  if (!inode.left_in_row->has_capability) erase_xattr(inode.xattrs, kCapability);
  inode.left_in_row.reset();
}

}  // namespace cffs
