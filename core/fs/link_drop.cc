#include "core/fs/link_drop.h"

namespace cffs {

Status LinkDrop::build(Batch& batch, CompositeAccounts& accounts, const Target& target, std::int64_t now_ns) {
  const Inode& inode = target.inode;
  if (target.linked && inode.nlink > 1) {
    Inode left = inode;
    if (target.node) {
      target.node->mutex.assert_held();
      CFFS_TRY(left, rows_.whole(*target.node));
    }
    left.nlink -= 1;
    left.ctime_ns = now_ns;
    batch.put(Key::null_name(inode.ino), encode_single_row("", left));
    return {};
  }
  last_ = true;
  if (target.linked) batch.erase(Key::null_name(inode.ino));
  if (target.node) return keep_for_users(batch, accounts, target);
  return homes_.leave(batch, accounts, inode);
}

// Bytes of the table are kept in memory, or where they are; a composite by its handle; a blob keeps its name as long as it is in
// use. Data that is damaged must not keep the file from being removed; a want of descriptors, which passes, does: the data
// would be gone for good.
Status LinkDrop::keep_for_users(Batch& batch, CompositeAccounts& accounts, const Target& target) {
  const Inode& inode = target.inode;
  Status kept;
  if (inode.home == Home::inline_) kept = keep_inline(inode);
  if (inode.home == Home::composite) kept = keep_member(batch, inode);
  if (!kept) {
    if (kept.error().is_shortage()) return kept;
    lost_ = true;
  }
  if (in_chunks_ || inode.left_in_row) CFFS_TRY_VOID(keep_row(batch, target));
  const bool stays = in_chunks_ && inode.home == Home::inline_;
  return stays ? Status() : homes_.leave(batch, accounts, inode);
}

// Who has it open, or stands in it, may ask for all that it had: the kernel does by itself, for its ACL.
Status LinkDrop::build_directory(Batch& batch, const Target& target) {
  last_ = true;
  const bool keeps = target.node && target.inode.left_in_row;
  return keeps ? keep_row(batch, target) : Status();
}

// The row goes: what the node leaves there, and where its chunks are, is in one without a name from now on.
Status LinkDrop::keep_row(Batch& batch, const Target& target) {
  nameless_row_ = true;
  target.node->mutex.assert_held();
  CFFS_TRY(Inode row, rows_.whole(*target.node));
  row.home = in_chunks_ ? Home::inline_ : Home::none;
  row.extent = {};
  row.sealed = false;
  std::string bytes;
  encode_inode(bytes, row);
  batch.put(PendingRemoval::of_nameless(target.inode.ino).key(), bytes);
  return {};
}

Status LinkDrop::keep_inline(const Inode& inode) {
  HeldContent held;
  if (!held.share.resize(homes_.nameless().bytes, inode.size)) {
    in_chunks_ = true;
    return {};
  }
  CFFS_TRY(held.bytes, homes_.load_small(inode));
  orphan_bytes_ = std::move(held);
  return {};
}

// Handles are few, and each composite that is kept takes one: above their budget the content goes to the table, where there is
// room for it. Else it stays where it is, and so does the composite, by its name: readers open it as they do those of others.
Status LinkDrop::keep_member(Batch& batch, const Inode& inode) {
  CFFS_TRY(auto object, homes_.object_of(inode));
  const bool fits = inode.size <= kSmallFileMax;
  const bool shares = pinned_share_.resize(homes_.nameless().composites, 1);
  if (!shares && fits && homes_.has_room_for(inode.size)) {
    CFFS_TRY(const std::string content, homes_.load_small(inode));
    Inode in_table = inode;
    in_table.home = Home::none;
    CFFS_TRY_VOID(homes_.put_chunks(batch, in_table, 0, content));
    in_chunks_ = true;
    return {};
  }
  if (shares) pinned_ = std::move(object);
  pinned_record_ = {homes_.nameless().records, inode.extent};
  return {};
}

void LinkDrop::finish(const Target& target, std::int64_t now_ns) {
  if (last_) count_.removed();
  if (!target.node) {
    if (last_ && target.inode.home == Home::blob) removals_.queue_blob(target.inode.ino);
    return;
  }
  Node& node = *target.node;
  node.mutex.assert_held();
  node.inode.ctime_ns = now_ns;
  node.row_stale = false;
  if (!last_) {
    node.inode.nlink -= 1;
    return;
  }
  node.inode.nlink = 0;
  node.unlinked = true;
  // Its sums went with the row, and are there again where a power cut forgets that: who changes it makes sure before.
  if (node.inode.sealed) node.seals_broken += 1;
  node.inode.sealed = false;
  node.orphan_bytes = std::move(orphan_bytes_);
  node.pinned = std::move(pinned_);
  node.pinned_share = std::move(pinned_share_);
  node.pinned_record = std::move(pinned_record_);
  node.nameless_row = nameless_row_;
  if (in_chunks_) {
    node.inode.home = Home::inline_;
    node.inode.extent = {};
  }
  node.orphan_lost = lost_;
  if (node.inode.home == Home::blob) homes_.nameless().parting.lost_name(node.ino);
}

}  // namespace cffs
