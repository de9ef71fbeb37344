// getattr, setattr, and how a node's attributes reach its row.
#include "core/fs/acl.h"
#include "core/fs/consolidator.h"
#include "core/fs/file_system.h"
#include "core/fs/locking.h"

namespace cffs {

Status FileSystem::put_node(Batch& batch, Node& node) {
  if (node.unlinked) return {};
  const bool null_name = node.row_key == Key::null_name(node.ino);
  const std::string_view name = null_name ? std::string_view() : std::string_view(node.name);
  if (node.row_alone) {
    batch.put(node.row_key, encode_single_row(name, node.inode));
    return {};
  }
  CFFS_TRY(Row row, table_->get_row(node.row_key));
  Entry* entry = row.find(name);
  CFFS_INVARIANT(entry != nullptr);
  entry->inode = node.inode;
  batch.put_row(node.row_key, row);
  return {};
}

void FileSystem::mark_stale(Node& node) {
  if (node.row_stale || node.unlinked) return;
  node.row_stale = true;
  const std::lock_guard guard(stale_mutex_);
  stale_.push_back(node.ino);
}

Status FileSystem::flush_node(Node& node) {
  const NodeUpdate update(*this, node);
  if (!node.row_stale || node.unlinked) return {};
  Batch batch;
  CFFS_TRY_VOID(put_node(batch, node));
  CFFS_TRY_VOID(table_->write(batch));
  node.row_stale = false;
  return {};
}

Result<Attributes> FileSystem::getattr(InodeId ino) {
  CFFS_TRY(const NodePtr found, node(ino));
  const std::shared_lock guard(found->mutex);
  return attributes_of(found->inode);
}

// Set-id bits do not outlive what they were given for: the owner, or the content. As the kernel, which leaves this to the
// file system: set-group-ID without group execute is a member's to keep.
void FileSystem::drop_set_id(Inode& inode, const Caller& caller) {
  if (inode.is_directory()) return;
  inode.mode &= ~static_cast<mode_t>(S_ISUID);
  if ((inode.mode & S_ISGID) == 0) return;
  const bool keeps = (inode.mode & S_IXGRP) == 0 && caller.may_set_group_id(inode.gid);
  if (!keeps) inode.mode &= ~static_cast<mode_t>(S_ISGID);
}

void FileSystem::drop_capabilities(Inode& inode) { erase_xattr(inode.xattrs, "security.capability"); }

Result<Attributes> FileSystem::setattr(InodeId ino, const AttributeChange& change, const Caller& caller) {
  CFFS_TRY(const NodePtr found, node(ino));
  Node& node = *found;
  if (change.size) {
    CFFS_TRY_VOID(truncate(node, *change.size, caller));
    const bool more =
        change.mode || change.uid || change.gid || change.atime_ns || change.mtime_ns || change.ctime_ns;
    if (!more) return getattr(ino);  // its row is written, times included
  }
  const NodeUpdate update(*this, node);
  Inode& inode = node.inode;
  const Inode before = inode;
  inode.ctime_ns = change.ctime_ns.value_or(now());
  if (change.uid || change.gid || change.drop_set_id) {
    drop_set_id(inode, caller);
    inode.uid = change.uid.value_or(inode.uid);
    inode.gid = change.gid.value_or(inode.gid);
    if (change.uid || change.gid) drop_capabilities(inode);
  }
  if (change.mode) {
    inode.mode = (inode.mode & S_IFMT) | (*change.mode & 07777);
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
  if (!node.unlinked) {
    Batch batch;
    CFFS_TRY_VOID(put_node(batch, node));
    if (Status done = table_->write(batch); !done) {
      inode = before;
      return fail(done.error());
    }
    node.row_stale = false;
  }
  return attributes_of(inode);
}

void FileSystem::accessed(InodeId ino) {
  if (options_.access_times == AccessTimes::never) return;
  const NodePtr found = nodes_.find(ino);
  if (!found) return;
  if (!options_.directory_access_times && S_ISDIR(found->type)) return;
  constexpr std::int64_t kDayNs = 86'400'000'000'000;
  const std::int64_t at = now();
  const auto due = [&](const Inode& inode) {
    if (options_.access_times == AccessTimes::strict) return inode.atime_ns != at;
    return inode.atime_ns <= inode.mtime_ns || inode.atime_ns <= inode.ctime_ns ||
           at - inode.atime_ns >= kDayNs;
  };
  {
    const std::shared_lock guard(found->mutex);
    if (!due(found->inode)) return;
  }
  const std::unique_lock guard(found->mutex);
  found->inode.atime_ns = at;
  mark_stale(*found);  // reaches the row with the next commit
}

}  // namespace cffs
