#include "core/fs/link_drop.h"

namespace cffs {

Status LinkDrop::build(Batch& batch, CompositeAccounts& accounts, const Target& target, std::int64_t now_ns) {
  const Inode& inode = target.inode;
  if (target.linked && inode.nlink > 1) {
    Inode left = inode;
    left.nlink -= 1;
    left.ctime_ns = now_ns;
    batch.put(Key::null_name(inode.ino), encode_single_row("", left));
    return {};
  }
  last_ = true;
  if (target.linked) batch.erase(Key::null_name(inode.ino));
  if (target.node) CFFS_TRY_VOID(keep_for_users(inode));
  return homes_.leave(batch, accounts, inode);
}

// Bytes of the table are kept in memory, a composite by its handle; a blob keeps its name as long as it is in use. Data that is damaged must not keep the file from being
// removed; a want of descriptors, which passes, does: the data would be gone for good.
Status LinkDrop::keep_for_users(const Inode& inode) {
  Status kept;
  if (inode.home == Home::inline_) {
    auto bytes = homes_.load_small(inode);
    if (bytes) orphan_bytes_ = std::move(*bytes);
    if (!bytes) kept = fail(std::move(bytes).error());
  } else if (inode.home == Home::composite) {
    auto object = homes_.object_of(inode);
    if (object) pinned_ = std::move(*object);
    if (!object) kept = fail(std::move(object).error());
  }
  if (kept) return {};
  const int reason = kept.error().errno_value;
  if (reason == EMFILE || reason == ENFILE || reason == ENOMEM) return kept;
  lost_ = true;
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
  node.inode.sealed = false;  // its sums went with the row
  node.orphan_bytes = std::move(orphan_bytes_);
  node.pinned = std::move(pinned_);
  node.orphan_lost = lost_;
}

}  // namespace cffs
