// From a name to an inode, and the end of an inode's use.
#include <algorithm>
#include <unordered_set>

#include "core/base/within_memory.h"
#include "core/fs/engine.h"
#include "core/fs/limits.h"

namespace cffs {

Result<Attributes> Engine::lookup(InodeId parent_ino, std::string_view name) {
  if (name == "." || name == "..") return lookup_relative(parent_ino, name == "..");
  CFFS_TRY(const NodePtr parent, rows_.directory(parent_ino));
  if (name.size() > kNameMax) return fail(ENAMETOOLONG);
  const Key key = rows_.entry_key(parent_ino, name);
  // A hard link's second row may go between the two looks; then the name has changed too.
  for (std::optional<InodeId> missing;;) {
    InodeId linked;
    {
      const RowLocks::SharedGuard guard(locks_, key);
      CFFS_TRY(const Row row, table_->get_row(key));
      const Entry* entry = row.find(name);
      if (row.entries.empty()) absent_.note(guard, key);
      if (entry == nullptr) return fail(ENOENT);
      if (entry->inode) {
        CFFS_TRY(const NodePtr found, rows_.refer(*entry->inode, key, row.entries.size() == 1, parent, name));
        return attributes_at(found, key, name);
      }
      linked = entry->ino;
    }
    if (missing == linked) return fail(leads_nowhere(linked));
    const Key null_key = Key::null_name(linked);
    const RowLocks::SharedGuard guard(locks_, null_key);
    CFFS_TRY(const Row row, table_->get_row(null_key));
    const Entry* entry = row.find("");
    if (entry == nullptr || !entry->inode) {
      missing = linked;
      continue;
    }
    CFFS_TRY(const NodePtr found,
             rows_.refer(*entry->inode, null_key, row.entries.size() == 1, parent, name));
    return attributes_at(found, null_key, {});
  }
}

// Of a node that was just referred to: a directory under a second name would lead the kernel, and us, in a circle.
Result<Attributes> Engine::attributes_at(const NodePtr& found, Key row_key, std::string_view name) {
  const auto look = [&]() -> Result<Attributes> {
    const ReadLock guard(found->mutex);
    CFFS_TRY_VOID(NodeRows::check_place(*found, row_key, name));
    return attributes_of(found->inode);
  };
  auto attributes = look();
  if (!attributes && nodes_.release(found->ino, 1)) {  // under the stripes nothing is settled
    const MutexLock guard(leftovers_mutex_);
    leftovers_.push_back(found->ino);
  }
  return attributes;
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
    nodes_.acquire(parent);
    found = std::move(parent);
    forget(ino, 1);
  }
  const ReadLock guard(found->mutex);
  return attributes_of(found->inode);
}

// One more reference of an inode that somebody refers to; null where nobody does.
Result<NodePtr> Engine::refer_again(InodeId ino) {
  auto live = rows_.node(ino);
  if (live) nodes_.acquire(*live);
  if (!live && live.error().errno_value == ESTALE) return NodePtr();
  return live;
}

// Where rows say that an inode is: any of its names. ESTALE where it is gone.
Result<EntryName> Engine::place_of(InodeId ino, bool anew) {
  constexpr int kTries = 3;  // names may move while we look
  for (int attempt = 0; attempt < kTries; ++attempt) {
    bool current = false;
    CFFS_TRY(const auto key, handles_.find(ino, anew, current));
    if (!key) return fail(ESTALE);
    CFFS_TRY(const Row row, table_->get_row(*key));
    const auto entry = std::find_if(row.entries.begin(), row.entries.end(),
                                    [ino](const Entry& e) { return e.ino == ino && !e.name.empty(); });
    if (entry != row.entries.end()) return EntryName{InodeId{key->upper}, entry->name};
    if (current) return fail(ESTALE);
    anew = true;
  }
  return fail(ESTALE);
}

// The node of an inode that may have been forgotten, found by its number, with a reference; ESTALE where it is gone. Up by
// numbers to a directory that is referred to, then down by names: without recursion, a tree may be deep.
Result<NodePtr> Engine::find_by_number(InodeId ino) {
  constexpr int kTries = 3;  // names may move while we climb
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::vector<std::pair<InodeId, EntryName>> path;  // from the file upwards
    std::unordered_set<InodeId> met;                  // rows of a damaged store may lead in a circle
    InodeId at = ino;
    for (;;) {
      CFFS_TRY(const NodePtr there, refer_again(at));
      if (there) break;
      if (!met.insert(at).second) return fail(ESTALE);
      CFFS_TRY(EntryName place, place_of(at, attempt > 0));
      const InodeId parent = place.parent;
      path.emplace_back(at, std::move(place));
      at = parent;
    }
    bool there = true;
    for (; there && !path.empty(); path.pop_back()) {
      const auto& [child, place] = path.back();
      const auto found = lookup(place.parent, place.name);
      forget(place.parent, 1);
      there = found && found->ino == child;
      if (found && !there) forget(found->ino, 1);
    }
    if (there) return rows_.node(ino);
  }
  return fail(ESTALE);
}

// A directory whose references went before its children's goes with the last of them; so may its own, and so on. Nobody who gives references back
// could be told of an error.
void Engine::forget(InodeId ino, std::uint64_t references) {
  for (std::optional<InodeId> next = ino; next; references = 0) next = forget_one(*next, references);
}

// The directory above, which may be to be forgotten too.
std::optional<InodeId> Engine::forget_one(InodeId ino, std::uint64_t references) {
  if (ino == kRootInode || !nodes_.release(ino, references)) return {};
  auto above = within_memory([&] { return let_go(ino); });
  if (above) return *above;
  // Where there is no memory for this either, it goes with the mount.
  (void)within_memory([&]() -> Status {
    const MutexLock guard(leftovers_mutex_);
    leftovers_.push_back(ino);
    return {};
  });
  return {};
}

Result<std::optional<InodeId>> Engine::let_go(InodeId ino) {
  constexpr int kTries = 3;  // an unlink or a write may come in between; then there is more to settle
  for (int attempt = 0; attempt < kTries; ++attempt) {
    NodePtr gone = nodes_.find(ino);
    if (!gone) {
      const NodeTable::Forgotten forgotten = nodes_.erase_asleep(ino);
      if (forgotten.erased == NodeTable::Erased::unsettled) continue;  // somebody woke it
      return forgotten.directory;
    }
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
    return parent ? std::optional(parent->ino) : std::nullopt;
  }
  return fail(EBUSY);
}

// The last reference to a file without a name is gone; so is its data.
void Engine::release_unlinked(Node& node) {
  const WriteLock guard(node.mutex);
  node.row_stale = false;
  if (node.inode.home == Home::blob) {
    removals_.queue_blob(node.ino);
    nameless_.parting.went(node.ino);
  }
  if (node.nameless_row) removals_.queue_nameless(node.ino);
  node.nameless_row = false;
  node.inode.home = Home::none;
  node.let_go_of_content();
}

}  // namespace cffs
