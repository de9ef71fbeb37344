// The three homes of a file's data, and the moves that a write forces: into the table, or out to a blob.
// Moves into composites are made in the background (relocation.cc).
//
// Inline data is kept in chunks of kChunkBytes under the file's own number, so that a small write to a staged
// file rewrites one chunk. A chunk row is as long as the data it holds; what is missing reads as zeros.
#include <algorithm>

#include "core/fs/file_system.h"

namespace cffs {

std::uint64_t FileSystem::inline_limit() const {
  if (!makes_composites_.load(std::memory_order_relaxed)) return format_.inline_max;
  // Staging: files up to here wait in the table for consolidation, so that creating one makes no object.
  return std::min(16 * format_.inline_max, format_.composite_file_max);
}

Result<std::string> FileSystem::read_chunks(const Inode& inode) const {
  std::string bytes(inode.size, '\0');
  if (bytes.empty()) return bytes;
  const std::uint64_t last = (inode.size - 1) / kChunkBytes;
  CFFS_TRY_VOID(
      table_->scan(Key::data(inode.ino, 0), Key::data(inode.ino, last), [&](Key key, std::string_view v) {
        const std::uint64_t at = key.lower * kChunkBytes;
        v.copy(bytes.data() + at, std::min<std::uint64_t>(v.size(), inode.size - at));
        return true;
      }));
  return bytes;
}

Status FileSystem::put_chunks(Batch& batch, const Inode& inode, std::uint64_t offset,
                              std::string_view data) const {
  const std::uint64_t end = offset + data.size();
  const std::uint64_t old_size = inode.home == Home::inline_ ? inode.size : 0;
  for (std::uint64_t chunk = offset / kChunkBytes; chunk * kChunkBytes < end; ++chunk) {
    const std::uint64_t base = chunk * kChunkBytes;
    const std::uint64_t from = std::max(offset, base);
    const std::uint64_t to = std::min(end, base + kChunkBytes);
    const std::string_view piece = data.substr(from - offset, to - from);
    const bool replaces_all = from == base && (to == base + kChunkBytes || to >= old_size);
    if (replaces_all) {
      batch.put(Key::data(inode.ino, chunk), piece);
      continue;
    }
    std::string merged;
    if (base < old_size) {
      CFFS_TRY(auto stored, table_->get(Key::data(inode.ino, chunk)));
      if (stored) merged = std::move(*stored);
    }
    if (merged.size() < to - base) merged.resize(to - base);
    piece.copy(merged.data() + (from - base), piece.size());
    batch.put(Key::data(inode.ino, chunk), merged);
  }
  return {};
}

void FileSystem::erase_chunks(Batch& batch, const Inode& inode, std::uint64_t first_chunk) const {
  if (inode.home != Home::inline_) return;
  for (std::uint64_t chunk = first_chunk; chunk * kChunkBytes < inode.size; ++chunk) {
    batch.erase(Key::data(inode.ino, chunk));
  }
}

void FileSystem::leave_home(Batch& batch, CompositeAccounts& accounts, const Inode& inode) {
  if (inode.home == Home::inline_) erase_chunks(batch, inode, 0);
  if (inode.home == Home::composite) accounts.free(inode.extent);
  if (inode.home == Home::blob) batch.put(pending_blob_key(inode.ino), {});
}

// The whole content of a file that is not a blob.
Result<std::string> FileSystem::load_small(const Inode& inode, const Node* node) {
  if (node != nullptr && node->orphan_bytes) return *node->orphan_bytes;
  if (inode.home == Home::inline_) return read_chunks(inode);
  std::string bytes(inode.size, '\0');
  if (inode.home == Home::composite) {
    CFFS_TRY(const auto object, object_of(inode, node));
    CFFS_TRY(const std::size_t n,
             CompositeStore::read(*object, inode.extent, 0, as_writable_bytes(bytes), true));
    CFFS_INVARIANT(n == bytes.size());
  }
  return bytes;
}

// The object that holds the file's data. A missing one is damage to the store, not a missing file.
Result<std::shared_ptr<Object>> FileSystem::object_of(const Inode& inode, const Node* node) {
  if (node != nullptr && node->pinned) return node->pinned;
  auto object = inode.home == Home::blob ? blobs_.open(inode.ino) : composites_.open(inode.extent.composite);
  if (!object && object.error().errno_value == ENOENT) {
    return fail(Error::corruption("object " + object.error().context + " is missing"));
  }
  return object;
}

// The file's content anew, in the table; in memory where it has no name. What was there goes.
Status FileSystem::replace_small(Node& node, Batch& batch, CompositeAccounts& accounts, std::string content) {
  Inode& inode = node.inode;
  const std::uint64_t size = content.size();
  if (node.unlinked) {
    node.orphan_bytes = std::move(content);
  } else {
    leave_home(batch, accounts, inode);
    inode.home = Home::none;  // its chunks start from nothing
    inode.extent = {};
    CFFS_TRY_VOID(put_chunks(batch, inode, 0, content));
  }
  inode.home = size > 0 ? Home::inline_ : Home::none;
  inode.size = size;
  return {};
}

// Gives the file a blob that holds `content`. The node is locked with its stripes.
Status FileSystem::move_to_blob(Node& node, Batch& batch, CompositeAccounts& accounts,
                                std::string_view content) {
  // A blob of this file may still wait for its removal: it must go before its name is used again.
  bool waiting = false;
  {
    const std::lock_guard none_under_way(removal_work_);
    const std::lock_guard guard(removals_mutex_);
    waiting = removals_.contains({kPendingBlob, node.ino.value});
  }
  if (waiting) CFFS_TRY_VOID(settle_removals());
  // The intent comes first: a crash between here and the batch leaves an object that recovery removes.
  Batch intent;
  intent.put(pending_blob_key(node.ino), {});
  CFFS_TRY_VOID(table_->write(intent));
  CFFS_TRY(auto object, blobs_.create(node.ino));
  CFFS_TRY_VOID(object->write_at(0, as_bytes(content)));
  CFFS_TRY(const ObjectInfo info, object->info());
  dirty_objects_.note(object);
  // The batch drops the old copy of this content. Where that copy may be durable already (an fsync, a commit), the new
  // one must be too; a file made since has no durable content to lose.
  if (node.inode.size > 0 && node.ino.value < durable_below_.load()) CFFS_TRY_VOID(object->sync());

  if (node.unlinked) {
    node.orphan_bytes.reset();
    node.pinned = object;  // the intent stays: the blob goes with the last reference
  } else {
    leave_home(batch, accounts, node.inode);
    batch.erase(pending_blob_key(node.ino));
  }
  node.inode.home = Home::blob;
  node.inode.size = content.size();
  node.inode.allocated = info.allocated;
  node.inode.extent = {};
  return {};
}

}  // namespace cffs
