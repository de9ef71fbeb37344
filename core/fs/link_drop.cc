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
  // Bytes of the table are kept in memory, an object by its handle. Data that is damaged must not keep the file from being
  // removed.
  if (target.node && inode.home == Home::inline_) {
    if (auto bytes = homes_.load_small(inode)) orphan_bytes_ = std::move(*bytes);
  } else if (target.node && inode.home != Home::none) {
    if (auto object = homes_.object_of(inode)) pinned_ = std::move(*object);
  }
  homes_.leave(batch, accounts, inode);
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
  node.orphan_bytes = std::move(orphan_bytes_);
  node.pinned = std::move(pinned_);
}

}  // namespace cffs
