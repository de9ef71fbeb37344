// Writing and truncating.
//
// A write is settled when it is acknowledged: small files in the table's log, blobs in the backing store.
// That is what lets the mount do without FLUSH, and so without a request at close (docs/CONSISTENCY.md). A
// subfile is never changed in place: a write takes the file out of its composite, into the table or to a
// blob, and frees the extent. Rewriting a few KB costs what staging costs anyway, and a torn in-place write
// could not be told from rot.
#include <algorithm>

#include "core/fs/consolidator.h"
#include "core/fs/file_system.h"
#include "core/fs/locking.h"

namespace cffs {
namespace {

// A blob overwritten in place gets its new times written at once where the old ones are older than this, and
// with the next commit where they are not: after a crash a changed file shows a changed time.
constexpr std::int64_t kTimesSettledNs = 1'000'000'000;

std::string_view text(ConstBytes data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

}  // namespace

void FileSystem::content_changed(Inode& inode, std::int64_t at, const Caller& caller) {
  inode.mtime_ns = inode.ctime_ns = at;
  inode.version += 1;
  if (!caller.privileged) drop_set_id(inode, caller);
  drop_capabilities(inode);
}

// The file waits for consolidation; its directory is remembered, in memory and across a crash.
void FileSystem::note_staged(Batch& batch, Node& node) {
  if (node.parent && !node.unlinked) consolidator_->note(batch, *node.parent);
}

Status FileSystem::write(InodeId ino, std::uint64_t offset, ConstBytes data, const Caller& caller) {
  if (data.empty()) return {};
  if (offset > kFileMax || data.size() > kFileMax - offset) return fail(EFBIG);
  CFFS_TRY(const NodePtr found, node(ino));
  Node& node = *found;
  if (!S_ISREG(node.type)) return fail(EINVAL);
  CFFS_TRY_VOID(space_.charge(data.size()));
  const std::int64_t at = now();
  for (bool done = false; !done;) {
    CFFS_TRY_VOID(write_blob(node, offset, data, at, caller, done));
    if (!done) CFFS_TRY_VOID(write_small(node, offset, data, at, caller, done));
  }
  return {};
}

Status FileSystem::write_blob(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t at,
                              const Caller& caller, bool& done) {
  bool settle_now = false;
  {
    const std::unique_lock guard(node.mutex);
    if (node.inode.home != Home::blob) return {};
    CFFS_TRY(const auto object, object_of(node.inode, &node));
    CFFS_TRY_VOID(object->write_at(offset, data));
    if (node.dirty_epoch != dirty_objects_.epoch()) {
      node.dirty_epoch = dirty_objects_.epoch();
      dirty_objects_.note(object);
    }
    const std::uint64_t end = offset + data.size();
    settle_now = end > node.inode.size || at - node.inode.mtime_ns > kTimesSettledNs;
    if (end > node.inode.size || node.inode.allocated < node.inode.size) {
      CFFS_TRY(const ObjectInfo info, object->info());
      node.inode.allocated = info.allocated;
    }
    node.inode.size = std::max(node.inode.size, end);
    content_changed(node.inode, at, caller);
    mark_stale(node);
  }
  done = true;
  return settle_now ? flush_node(node) : Status();
}

// Leaves `done` false where the file is, or has just become, a blob.
Status FileSystem::write_small(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t at,
                               const Caller& caller, bool& done) {
  const NodeUpdate update(*this, node);
  if (node.inode.home == Home::blob) return {};
  const Inode before = node.inode;
  const std::uint64_t new_size = std::max(node.inode.size, offset + data.size());
  const bool fits = new_size <= inline_limit();

  if (node.unlinked && fits) {
    if (!node.orphan_bytes) {
      CFFS_TRY(node.orphan_bytes, load_small(node.inode, &node));
    }
    node.orphan_bytes->resize(new_size);
    text(data).copy(node.orphan_bytes->data() + offset, data.size());
    node.inode.home = Home::inline_;
    node.inode.size = new_size;
    content_changed(node.inode, at, caller);
    done = true;
    return {};
  }

  Batch batch;
  CompositeAccounts accounts(*table_);
  Status built;
  if (!fits) {
    CFFS_TRY(const std::string content, load_small(node.inode, &node));
    built = move_to_blob(node, batch, accounts, content);
  } else if (node.inode.home == Home::composite) {
    CFFS_TRY(std::string content, load_small(node.inode, &node));
    content.resize(new_size);
    text(data).copy(content.data() + offset, data.size());
    leave_home(batch, accounts, node.inode);
    node.inode.home = Home::none;  // its chunks start from nothing
    built = put_chunks(batch, node.inode, 0, content);
  } else {
    built = put_chunks(batch, node.inode, offset, text(data));
  }
  if (fits) {
    node.inode.home = Home::inline_;
    node.inode.size = new_size;
    node.inode.extent = {};
    content_changed(node.inode, at, caller);
  }
  if (built && node.unlinked) return built;  // moved to a blob; there is no row to write
  if (built) note_staged(batch, node);
  if (built) built = put_node(batch, node);
  if (built) built = write_accounted(batch, accounts);
  if (!built) {
    node.inode = before;
    return built;
  }
  node.row_stale = false;
  node.verified.store(0, std::memory_order_relaxed);
  done = fits;
  return {};
}

Status FileSystem::truncate(Node& node, std::uint64_t size, const Caller& caller) {
  if (size > kFileMax) return fail(EFBIG);
  const NodeUpdate update(*this, node);
  if (node.inode.is_directory()) return fail(EISDIR);
  if (!node.inode.is_regular()) return fail(EINVAL);
  if (size > node.inode.size) CFFS_TRY_VOID(space_.charge(0));
  const Inode before = node.inode;
  const std::int64_t at = now();
  const bool fits = size <= inline_limit();
  Inode& inode = node.inode;
  Batch batch;
  CompositeAccounts accounts(*table_);
  const auto build = [&]() -> Status {
    if (inode.home == Home::blob) {
      // Stays a blob, however small: most truncated files are about to be rewritten. Consolidation moves it
      // later.
      CFFS_TRY(const auto object, object_of(node.inode, &node));
      CFFS_TRY_VOID(object->truncate(size));
      dirty_objects_.note(object);
      CFFS_TRY(const ObjectInfo info, object->info());
      inode.allocated = info.allocated;
      inode.size = size;
      return {};
    }
    if (node.unlinked || inode.home == Home::composite || !fits) {
      std::string content;
      if (size > 0) {
        CFFS_TRY(content, load_small(inode, &node));
      }
      if (!fits) {
        if (content.size() > size) content.resize(size);
        CFFS_TRY_VOID(move_to_blob(node, batch, accounts, content));
        CFFS_TRY(const auto object, object_of(node.inode, &node));
        CFFS_TRY_VOID(object->truncate(size));
      } else {
        content.resize(size);
        return replace_small(node, batch, accounts, std::move(content));
      }
      inode.size = size;
      return {};
    }
    if (size < inode.size) {
      erase_chunks(batch, inode, (size + kChunkBytes - 1) / kChunkBytes);
      const std::uint64_t within = size % kChunkBytes;
      if (within > 0) {
        CFFS_TRY(auto chunk, table_->get(Key::data(inode.ino, size / kChunkBytes)));
        if (chunk && chunk->size() > within) {
          batch.put(Key::data(inode.ino, size / kChunkBytes), std::string_view(*chunk).substr(0, within));
        }
      }
    }
    inode.size = size;
    inode.home = size > 0 ? Home::inline_ : Home::none;
    return {};
  };
  return finish_change(node, batch, accounts, build(), before, at, caller);
}

// The end of a change of content that is built, or failed: the row with its new times, and the rest of the batch. A failure
// leaves the node as it was.
Status FileSystem::finish_change(Node& node, Batch& batch, CompositeAccounts& accounts, Status built,
                                 const Inode& before, std::int64_t at, const Caller& caller) {
  content_changed(node.inode, at, caller);
  if (built && !node.unlinked) {
    if (node.inode.size > 0 || node.inode.home == Home::blob) note_staged(batch, node);
    built = put_node(batch, node);
    if (built) built = write_accounted(batch, accounts);
    if (built) {
      node.row_stale = false;
      node.verified.store(0, std::memory_order_relaxed);
    }
  }
  if (!built) node.inode = before;
  return built;
}

}  // namespace cffs
