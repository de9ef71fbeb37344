// getattr, setattr, and how a node's attributes reach its row.
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

Result<Attributes> FileSystem::setattr(InodeId ino, const AttributeChange& change) {
  CFFS_TRY(const NodePtr found, node(ino));
  Node& node = *found;
  if (change.size) {
    CFFS_TRY_VOID(truncate(node, *change.size, change));
    const bool more =
        change.mode || change.uid || change.gid || change.atime_ns || change.mtime_ns || change.ctime_ns;
    if (!more) return getattr(ino);  // its row is written, times included
  }
  const NodeUpdate update(*this, node);
  Inode& inode = node.inode;
  const Inode before = inode;
  inode.ctime_ns = change.ctime_ns.value_or(now());
  if (change.uid || change.gid) {
    inode.uid = change.uid.value_or(inode.uid);
    inode.gid = change.gid.value_or(inode.gid);
    // As the kernel does on chown, whoever asks: set-id bits do not outlive the owner they were given for.
    if (!inode.is_directory()) {
      inode.mode &= ~static_cast<mode_t>(S_ISUID);
      if ((inode.mode & S_IXGRP) != 0) inode.mode &= ~static_cast<mode_t>(S_ISGID);
    }
  }
  if (change.mode) inode.mode = (inode.mode & S_IFMT) | (*change.mode & 07777);
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

}  // namespace cffs
