// A file's size as it is told.
#include "core/fs/content_change.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"

namespace cffs {

Status Engine::truncate(Node& node, std::uint64_t size, const Caller& caller) {
  if (size > kFileMax) return fail(EFBIG);
  if (S_ISDIR(node.type)) return fail(EISDIR);
  if (!S_ISREG(node.type)) return fail(EINVAL);
  const NodeUpdate update(locks_, node);
  if (size > node.inode.size) CFFS_TRY_VOID(space_.charge(0));
  ContentChange change(*table_, node.inode);
  const std::int64_t at = now();
  return finish_change(node, change, build_truncate(node, change, size), at, caller);
}

Status Engine::build_truncate(Node& node, ContentChange& change, std::uint64_t size) {
  Inode& inode = node.inode;
  if (inode.home == Home::blob) {
    // Stays a blob, however small: most truncated files are about to be rewritten. Consolidation moves it later.
    CFFS_TRY(const auto object, homes_.object_of(node));
    CFFS_TRY_VOID(object->truncate(size));
    dirty_objects_->note(object);
    CFFS_TRY(const ObjectInfo info, object->info());
    inode.allocated = info.allocated;
    inode.size = size;
    return {};
  }
  const bool fits = size <= homes_.inline_limit();
  if (fits && !node.unlinked && inode.home != Home::composite) {
    if (size < inode.size) CFFS_TRY_VOID(homes_.cut_chunks(change.batch, inode, size));
    if (size > inode.size) CFFS_TRY_VOID(homes_.put_chunks(change.batch, inode, size, {}));
    inode.size = size;
    inode.home = size > 0 ? Home::inline_ : Home::none;
    return {};
  }
  std::string content;
  if (size > 0) {
    CFFS_TRY(content, homes_.load_small(node));
  }
  if (fits) {
    content.resize(size);
    return homes_.replace_small(node, change.batch, change.accounts, std::move(content));
  }
  if (content.size() > size) content.resize(size);
  CFFS_TRY_VOID(homes_.move_to_blob(node, change.batch, change.accounts, content));
  CFFS_TRY(const auto object, homes_.object_of(node));
  CFFS_TRY_VOID(object->truncate(size));
  inode.size = size;
  return {};
}

}  // namespace cffs
