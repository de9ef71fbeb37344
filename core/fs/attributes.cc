// getattr, setattr, access times.
#include "core/base/clock.h"
#include "core/fs/acl.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"
#include "core/fs/set_id.h"

namespace cffs {
namespace {

constexpr std::uint64_t kBlockBytes = 512;  // st_blocks counts in these

}  // namespace

Attributes attributes_of(const Inode& n) {
  Attributes a;
  a.ino = n.ino;
  a.mode = n.mode;
  a.nlink = n.nlink;
  a.uid = n.uid;
  a.gid = n.gid;
  a.rdev = n.rdev;
  a.size = n.size;
  if (n.is_symlink()) a.size = n.left_in_row ? n.left_in_row->target_bytes : n.target.size();
  a.allocated = n.home == Home::blob ? n.allocated : (n.size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  a.atime_ns = n.atime_ns;
  a.mtime_ns = n.mtime_ns;
  a.ctime_ns = n.ctime_ns;
  a.btime_ns = n.btime_ns;
  return a;
}

Result<Attributes> Engine::getattr(InodeId ino) {
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  const ReadLock guard(found->mutex);
  return attributes_of(found->inode);
}

Result<Attributes> Engine::setattr(InodeId ino, const AttributeChange& change, const Caller& caller) {
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  Node& node = *found;
  if (change.size) {
    CFFS_TRY_VOID(truncate(node, *change.size, caller));
    homes_.limit_dirty();
    const bool more = change.mode || change.uid || change.gid || change.atime_ns || change.mtime_ns ||
                      change.ctime_ns || change.drop_set_id;
    if (!more) return getattr(ino);  // its row is written, times included
  }
  const NodeUpdate update(locks_, node);
  CFFS_TRY(Inode inode, rows_.whole(node));
  inode.ctime_ns = change.ctime_ns.value_or(now());
  if (change.uid || change.gid || (change.drop_set_id && may_drop_set_id(inode, caller))) {
    drop_set_id(inode, caller);
    inode.uid = change.uid.value_or(inode.uid);
    inode.gid = change.gid.value_or(inode.gid);
    if (change.uid || change.gid) drop_capabilities(inode);
  }
  if (change.mode) {
    inode.mode = (inode.mode & S_IFMT) | allowed_mode(*change.mode & 07777, inode.gid, caller);
    for (auto& [name, value] : inode.xattrs) {
      if (name != kAccessAcl) continue;
      auto acl = Acl::parse(value);
      if (!acl || !*acl) continue;
      (*acl)->change_mode(inode.mode);
      value = (*acl)->bytes();
    }
  }
  if (change.atime_ns) inode.atime_ns = *change.atime_ns;
  if (change.mtime_ns) inode.mtime_ns = *change.mtime_ns;
  const Attributes changed = attributes_of(inode);
  CFFS_TRY_VOID(rows_.change(node, std::move(inode)));
  return changed;
}

void Engine::accessed(InodeId ino) {
  // Where no row can be written any more, files whose times moved would stay in memory for good.
  if (options_.access_times == AccessTimes::never || table_->failed()) return;
  const auto node = rows_.node(ino);
  if (!node) return;
  const NodePtr& found = *node;
  if (!options_.directory_access_times && S_ISDIR(found->type)) return;
  constexpr std::int64_t kDayNs = 86'400'000'000'000;
  const std::int64_t at = now();
  const auto due = [&](const Inode& inode) {
    if (options_.access_times == AccessTimes::strict) return inode.atime_ns != at;
    return inode.atime_ns <= inode.mtime_ns || inode.atime_ns <= inode.ctime_ns ||
           time_between(inode.atime_ns, at) >= kDayNs;
  };
  {
    const ReadLock guard(found->mutex);
    if (!due(found->inode)) return;
  }
  const WriteLock guard(found->mutex);
  found->inode.atime_ns = at;
  rows_.mark_stale(*found);  // reaches the row with the next commit
}

}  // namespace cffs
