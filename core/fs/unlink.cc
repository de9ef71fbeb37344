// unlink and rmdir: an entry goes, and with the last one the file.
#include "core/fs/engine.h"
#include "core/fs/link_drop.h"
#include "core/fs/locking.h"

namespace cffs {

Status Engine::unlink(InodeId parent, std::string_view name) { return remove_entry(parent, name, false); }
Status Engine::rmdir(InodeId parent, std::string_view name) { return remove_entry(parent, name, true); }

Status Engine::remove_entry(InodeId parent_ino, std::string_view name, bool want_directory) {
  CFFS_TRY(const NodePtr parent, rows_.directory(parent_ino));
  if (name == "." || name == "..") return fail(name == "." ? EINVAL : ENOTEMPTY);
  const std::int64_t at = now();
  for (bool removed = false; !removed;) {
    const std::uint64_t epoch = locks_.epoch();
    CFFS_TRY(const auto seen, rows_.peek(parent_ino, name));
    if (!seen) return fail(ENOENT);
    if (seen->inode.is_directory() != want_directory) return fail(want_directory ? ENOTDIR : EISDIR);
    CFFS_TRY(removed, try_remove(parent, name, *seen, epoch, at));
  }
  if (!want_directory) rows_.touch_directory(*parent, at);
  return {};
}

// False: what the name leads to changed between the look and the locks that it asked for.
Result<bool> Engine::try_remove(const NodePtr& parent, std::string_view name, const Target& seen,
                                std::uint64_t epoch, std::int64_t at) {
  const bool is_directory = seen.inode.is_directory();
  DirectoryLocks directories;
  directories.want(parent, false);
  if (is_directory && seen.node) directories.want(seen.node, true);
  directories.lock();
  std::vector<Key> keys;
  rows_.append_keys(keys, parent->ino, name, seen);
  Key parent_key;
  if (is_directory) {
    const ReadLock guard(parent->mutex);
    parent_key = parent->row_key;
    keys.push_back(parent_key);
  }
  const RowLocks::Guard stripes(locks_, keys);
  CFFS_TRY(auto target, rows_.look_again(parent, name, &seen, !stripes.changed_since(epoch)));
  if (!target) return fail(ENOENT);
  if (!target->same_place(seen)) return false;
  if (is_directory) {
    CFFS_TRY(const bool empty, rows_.directory_is_empty(*target, seen.node));
    if (!empty) return fail(ENOTEMPTY);
  }
  const NodeLocks nodes({target->node, is_directory ? parent : nullptr});
  if (is_directory) {
    parent->mutex.assert_held();
    if (parent->row_key != parent_key) return false;
  }
  target->refresh();
  if (!target->same_place(seen)) return false;  // a write may have moved it before the node was locked
  CFFS_TRY_VOID(remove_locked(parent, rows_.entry_key(parent->ino, name), name, *target, at));
  parent->entry_count.went();
  return true;
}

Status Engine::remove_locked(const NodePtr& parent, Key key, std::string_view name, Target& target,
                             std::int64_t at) {
  Batch batch;
  CompositeAccounts accounts(*table_);
  target.row.erase(name);
  batch.put_row(key, target.row);
  LinkDrop drop(homes_, rows_, removals_, file_count_);
  if (!target.inode.is_directory()) {
    CFFS_TRY_VOID(drop.build(batch, accounts, target, at));
    CFFS_TRY_VOID(rows_.write(batch, accounts));
  } else {
    parent->mutex.assert_held();
    const Inode before = parent->inode;
    CFFS_TRY_VOID(drop.build_directory(batch, target));
    parent->inode.nlink -= 1;
    parent->inode.mtime_ns = parent->inode.ctime_ns = at;
    Status done = rows_.put(batch, *parent);
    if (done) done = rows_.write(batch, accounts);
    if (!done) {
      parent->inode = before;
      return done;
    }
  }
  drop.finish(target, at);
  return {};
}

}  // namespace cffs
