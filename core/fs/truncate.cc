// A file's size as it is told.
#include <algorithm>
#include <optional>

#include "core/fs/content_change.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"

namespace cffs {
namespace {

constexpr std::uint64_t kBlock = 4096;  // what the backing file system most likely allocates in, bytes

}  // namespace

Status Engine::truncate(Node& node, std::uint64_t size, const Caller& caller) {
  if (size > kFileMax) return fail(EFBIG);
  if (S_ISDIR(node.type)) return fail(EISDIR);
  if (!S_ISREG(node.type)) return fail(EINVAL);
  CFFS_TRY_VOID(make_room_to_grow(node, size));
  CFFS_TRY_VOID(table_->begin_changes());
  return with_room([&]() -> Status {  // what is left of a member may need an object of its own
    std::optional<MomentHold::Passage> passage;
    for (;;) {
      CFFS_TRY_VOID(break_seal(node));
      {
        const NodeUpdate update(locks_, node);
        const bool may_change = !moments_.watched() || passage;
        if (may_change && !node.open_to_change()) continue;
        if (may_change) return truncate_locked(node, size, caller);
      }
      passage.emplace(moments_);
      CFFS_TRY_VOID(keep_for_moment(node, *passage, size, kFileMax - size));
    }
  });
}

Status Engine::truncate_locked(Node& node, std::uint64_t size, const Caller& caller) {
  ContentChange change(*table_, node.inode);
  const std::int64_t at = now();
  CFFS_TRY_VOID(finish_change(node, change, build_truncate(node, change, size), at, caller));
  const bool not_grown = change.before.home == Home::blob && size <= change.before.size;
  if (not_grown) give_room_back(node);  // also what was reserved behind the end
  return {};
}

// A blob is cut after its row says so: the other way round, a row that cannot be written would leave a file that has lost its
// end. Where cutting fails, the bytes lie behind the file's end until it grows again (cut_tail).
void Engine::give_room_back(Node& node) {
  const auto object = homes_.object_of(node);
  if (!object || !(*object)->truncate(node.inode.size)) return;
  dirty_objects_->note(node.inode.ino, *object);
  const auto info = (*object)->info();
  if (!info || info->allocated == node.inode.allocated) return;
  node.inode.allocated = info->allocated;
  rows_.mark_stale(node);
}

Status Engine::make_room_to_grow(Node& node, std::uint64_t size) {
  {
    const ReadLock guard(node.mutex);
    if (size <= node.inode.size) return {};
  }
  return space_.charge(0);
}

Status Engine::build_truncate(Node& node, ContentChange& change, std::uint64_t size) {
  Inode& inode = node.inode;
  if (inode.home == Home::blob) {
    // Stays a blob, however small: most truncated files are about to be rewritten. Consolidation moves it later.
    if (size > inode.size) {
      CFFS_TRY(const auto object, homes_.object_of(node));
      CFFS_TRY_VOID(cut_tail(*object, inode.size));
      CFFS_TRY_VOID(object->truncate(size));
      dirty_objects_->note(inode.ino, object);
      CFFS_TRY(const ObjectInfo info, object->info());
      inode.allocated = info.allocated;
    } else {
      inode.allocated = std::min(inode.allocated, (size + kBlock - 1) / kBlock * kBlock);  // as it will be
    }
    inode.size = size;
    return {};
  }
  const bool fits = size <= homes_.inline_limit(inode);
  if (fits && !node.unlinked && inode.home != Home::composite) {
    if (size < inode.size) CFFS_TRY_VOID(homes_.cut_chunks(change.batch, inode, size));
    if (size > inode.size) CFFS_TRY_VOID(homes_.put_chunks(change.batch, inode, size, {}));
    inode.size = size;
    inode.home = size > 0 ? Home::inline_ : Home::none;
    return {};
  }
  if (!fits)
    return move_to_blob(
        node, change, [size](Object& blob) { return blob.truncate(size); }, size);
  std::string content;
  if (size > 0) {
    CFFS_TRY(content, homes_.load_head(node, size));
  }
  content.resize(size);
  return put_small(node, change, std::move(content));
}

}  // namespace cffs
