// From a name to an inode, and the end of an inode's use.
#include <algorithm>

#include "core/fs/engine.h"
#include "core/fs/limits.h"

namespace cffs {

Result<Attributes> Engine::lookup(InodeId parent_ino, std::string_view name) {
  if (name == "." || name == "..") return lookup_relative(parent_ino, name == "..");
  CFFS_TRY(const NodePtr parent, rows_.directory(parent_ino));
  if (name.size() > kNameMax) return fail(ENAMETOOLONG);
  const Key key = rows_.entry_key(parent_ino, name);
  // A hard link's second row may go between the two looks; then the name has changed too.
  for (;;) {
    InodeId linked;
    {
      const RowLocks::SharedGuard guard(locks_, key);
      CFFS_TRY(const Row row, table_->get_row(key));
      const Entry* entry = row.find(name);
      if (entry == nullptr) return fail(ENOENT);
      if (entry->inode) {
        const NodePtr found = rows_.refer(*entry->inode, key, row.entries.size() == 1, parent, name);
        const ReadLock node_guard(found->mutex);
        return attributes_of(found->inode);
      }
      linked = entry->ino;
    }
    const Key null_key = Key::null_name(linked);
    const RowLocks::SharedGuard guard(locks_, null_key);
    CFFS_TRY(const Row row, table_->get_row(null_key));
    const Entry* entry = row.find("");
    if (entry == nullptr || !entry->inode) continue;
    const NodePtr found = rows_.refer(*entry->inode, null_key, row.entries.size() == 1, parent, name);
    const ReadLock node_guard(found->mutex);
    return attributes_of(found->inode);
  }
}

// "." of any file: whoever has a handle asks so.
Result<Attributes> Engine::lookup_relative(InodeId ino, bool up) {
  CFFS_TRY(NodePtr found, find_by_number(ino));
  if (up) {
    NodePtr parent = found;
    {
      const ReadLock guard(found->mutex);
      if (found->parent) parent = found->parent;
    }
    (void)nodes_.acquire(parent->ino, [&] { return parent; });
    found = std::move(parent);
    forget(ino, 1);
  }
  const ReadLock guard(found->mutex);
  return attributes_of(found->inode);
}

// One more reference of an inode that somebody refers to; null where nobody does.
NodePtr Engine::refer_again(InodeId ino) {
  NodePtr live = nodes_.find(ino);
  return live ? nodes_.acquire(ino, [&] { return live; }) : nullptr;
}

// The node of an inode that may have been forgotten, found by its number, with a reference; ESTALE where it is gone.
Result<NodePtr> Engine::find_by_number(InodeId ino) {
  if (NodePtr live = refer_again(ino)) return live;
  constexpr int kTries = 3;  // names may move while we look
  bool anew = false;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    bool current = false;
    CFFS_TRY(const auto key, handles_.find(ino, anew, current));
    if (!key) return fail(ESTALE);
    CFFS_TRY(const Row row, table_->get_row(*key));
    const auto entry = std::find_if(row.entries.begin(), row.entries.end(),
                                    [ino](const Entry& e) { return e.ino == ino && !e.name.empty(); });
    if (entry == row.entries.end()) {
      if (current) return fail(ESTALE);
      anew = true;
      continue;
    }
    const InodeId parent{key->upper};
    CFFS_TRY_VOID(find_by_number(parent));
    const auto found = lookup(parent, entry->name);
    forget(parent, 1);
    if (found && found->ino == ino) return nodes_.find(ino);
    if (found) forget(found->ino, 1);
    anew = true;
  }
  return fail(ESTALE);
}

void Engine::forget(InodeId ino, std::uint64_t references) {
  if (ino == kRootInode || !nodes_.release(ino, references)) return;
  constexpr int kTries = 3;  // an unlink or a write may come in between; then there is more to settle
  for (int attempt = 0; attempt < kTries; ++attempt) {
    NodePtr gone = nodes_.find(ino);
    if (!gone) return;
    NodePtr parent;
    bool unlinked = false;
    bool stale = false;
    {
      const ReadLock guard(gone->mutex);
      parent = gone->parent;
      unlinked = gone->unlinked;
      stale = gone->row_stale;
    }
    if (unlinked) {
      release_unlinked(*gone);
    } else if (stale && !rows_.flush(*gone)) {
      break;  // the table refuses writes; the commit reports it
    }
    gone.reset();
    const NodeTable::Erased erased = nodes_.erase_unreferenced(ino);
    if (erased == NodeTable::Erased::unsettled) continue;
    if (erased == NodeTable::Erased::in_use) break;
    // A directory whose references went before its children's goes with the last of them.
    if (parent && parent->ino != kRootInode) {
      const InodeId up = parent->ino;
      parent.reset();
      forget(up, 0);
    }
    return;
  }
  const MutexLock guard(leftovers_mutex_);
  leftovers_.push_back(ino);
}

// The last reference to a file without a name is gone; so is its data.
void Engine::release_unlinked(Node& node) {
  const WriteLock guard(node.mutex);
  node.row_stale = false;
  if (node.inode.home == Home::blob) removals_.queue_blob(node.ino);
  node.inode.home = Home::none;
  node.orphan_bytes.reset();
  node.pinned.reset();
}

}  // namespace cffs
