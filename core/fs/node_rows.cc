#include "core/fs/node_rows.h"

#include <algorithm>

#include "core/base/within_memory.h"
#include "core/fs/limits.h"
#include "core/fs/locking.h"
#include "core/fs/long_parts.h"
#include "core/table/pending_removal.h"

namespace cffs {
namespace {

// Of the entry that carries the node's inode.
std::string_view name_in_row(const Node& node) CFFS_REQUIRES_SHARED(node.mutex) {
  return node.row_key == Key::null_name(node.ino) ? std::string_view() : std::string_view(node.name);
}

Error two_rows(InodeId ino) {
  return Error::corruption("inode " + std::to_string(ino.value) + " has two rows");
}

}  // namespace

Error lost_row(InodeId ino) {
  return Error::corruption("inode " + std::to_string(ino.value) + " is not in the row where it was found");
}

Status check_room(const Row& row, std::string_view name, const Inode* inode) {
  if (row.entries.empty()) return {};
  std::size_t others = 0, bytes = inode != nullptr ? bytes_of(inode->xattrs) : 0;
  for (const Entry& entry : row.entries) {
    if (entry.name == name) continue;
    ++others;
    if (entry.inode) bytes += bytes_of(entry.inode->xattrs);
  }
  const bool fits = others < kNamesOfOneHash && (others == 0 || bytes <= kSharedRowXattrsMax);
  return fits ? Status() : Status(fail(ENOSPC));
}

// Of directories the nodes are locked first; a file may have been referred to, or forgotten, in between.
bool Target::same_place(const Target& other) const {
  return entry.ino == other.entry.ino && linked == other.linked &&
         (node == other.node || !S_ISDIR(entry.type)) && inode.home == other.inode.home &&
         inode.extent.composite == other.inode.extent.composite;
}

void Target::refresh() {
  if (!node) return;
  node->mutex.assert_held();
  inode = node->inode;
}

Key NodeRows::entry_key(InodeId directory, std::string_view name) const {
  return cffs::entry_key(name_hash_, directory, name);
}

Result<NodePtr> NodeRows::node(InodeId ino) const {
  if (NodePtr found = nodes_.find(ino)) return found;
  return wake(ino);
}

// Up to a directory that is awake, then down again: without recursion, a tree may be deep. What is woken is held by the pointer to
// the one below it, so it stays.
Result<NodePtr> NodeRows::wake(InodeId ino) const {
  std::vector<InodeId> path{ino};
  for (NodePtr above; !path.empty();) {
    const auto there = nodes_.look(path.back());
    NodePtr awake = there.node;
    if (there.asleep && above && above->ino.value == there.asleep->seen.upper) {
      CFFS_TRY(awake, wake_below(above, path.back(), *there.asleep));
      if (!awake) continue;
    }
    if (awake) {
      above = std::move(awake);
      path.pop_back();
      if (path.empty()) return above;
    } else if (!there.asleep) {
      if (path.size() == 1) return fail(ESTALE);
      path.resize(1);  // a directory that no longer has a child of whose place we heard: ask anew
    } else {
      path.push_back(InodeId{there.asleep->seen.upper});
    }
  }
  return fail(ESTALE);
}

Result<NodePtr> NodeRows::wake_below(const NodePtr& parent, InodeId ino, const Asleep& at) const {
  std::string name;
  if (at.linked()) {  // as good as what a node remembers of a hard link: by that name it was seen last
    CFFS_TRY(const Row names, table_.get_row(at.seen));
    for (const Entry& entry : names.entries) {
      if (entry.ino == ino && !entry.inode) name = entry.name;
    }
  }
  const RowLocks::SharedGuard guard(locks_, at.row);
  CFFS_TRY(const Row row, table_.get_row(at.row));
  const auto entry = std::find_if(row.entries.begin(), row.entries.end(),
                                  [ino](const Entry& e) { return e.ino == ino && e.inode; });
  if (entry == row.entries.end()) {
    const bool still = nodes_.look(ino).asleep == at;
    return still ? Result<NodePtr>(fail(lost_row(ino))) : Result<NodePtr>(nullptr);
  }
  if (!at.linked()) name = entry->name;
  return nodes_.wake(ino, at, [&] {
    return std::make_shared<Node>(remembered(*entry->inode), at.row, parent, name, row.entries.size() == 1);
  });
}

Result<NodePtr> NodeRows::directory(InodeId ino) const {
  CFFS_TRY(NodePtr found, node(ino));
  if (!S_ISDIR(found->type)) return fail(ENOTDIR);
  return found;
}

Result<Inode> NodeRows::linked_inode(InodeId ino) const {
  CFFS_TRY(const Row row, table_.get_row(Key::null_name(ino)));
  const Entry* entry = row.find("");
  if (entry == nullptr || !entry->inode) return fail(ESTALE);
  return *entry->inode;
}

Result<std::optional<Target>> NodeRows::peek(InodeId parent, std::string_view name, Row* otherwise) const {
  CFFS_TRY(auto target, target_of(parent, name, otherwise));
  if (!target || target->node || !S_ISDIR(target->entry.type)) return target;
  auto woken = node(target->entry.ino);
  if (!woken && woken.error().errno_value != ESTALE) return fail(std::move(woken).error());
  if (!woken) return target;
  target->node = std::move(*woken);
  const ReadLock guard(target->node->mutex);
  target->inode = target->node->inode;
  return target;
}

Result<std::optional<Target>> NodeRows::look_again(const NodePtr& parent, std::string_view name,
                                                   const Target* seen, bool unchanged) const {
  std::optional<Target> target;
  if (unchanged && seen == nullptr) return target;
  if (unchanged) target = seen_and_still_there(*seen);
  if (!target) {
    CFFS_TRY(target, target_of(parent->ino, name, nullptr));
  }
  // Of another inode, or one that has got a second name, the row is not locked; who sees that begins anew.
  const bool same =
      target && seen != nullptr && target->entry.ino == seen->entry.ino && target->linked == seen->linked;
  if (!same || target->node) return target;
  const auto asleep = nodes_.look(target->entry.ino).asleep;
  if (!asleep) return target;
  const bool alone = target->linked || target->row.entries.size() == 1;
  const Key row = target->linked ? Key::null_name(target->entry.ino) : entry_key(parent->ino, name);
  if (asleep->row != row) return fail(two_rows(target->entry.ino));
  target->node = nodes_.wake(target->entry.ino, *asleep, [&] {
    return std::make_shared<Node>(remembered(target->inode), row, parent, name, alone);
  });
  return target;
}

// Its row is as it was. None: it had a node, and has fallen asleep; what a node remembers is less than the row tells.
std::optional<Target> NodeRows::seen_and_still_there(const Target& seen) const {
  std::optional<Target> target = seen;
  target->node = nodes_.find(seen.entry.ino);
  if (target->node) {
    const ReadLock guard(target->node->mutex);
    target->inode = target->node->inode;
  } else if (seen.node) {
    target.reset();
  }
  return target;
}

Result<std::optional<Target>> NodeRows::target_of(InodeId parent, std::string_view name,
                                                  Row* otherwise) const {
  for (std::optional<InodeId> missing;;) {
    Target target;
    CFFS_TRY(target.row, table_.get_row(entry_key(parent, name)));
    const Entry* entry = target.row.find(name);
    if (entry == nullptr) {
      if (otherwise != nullptr) *otherwise = std::move(target.row);
      return std::optional<Target>();
    }
    target.entry = *entry;
    target.linked = !entry->inode.has_value();
    target.node = nodes_.find(entry->ino);
    if (target.node) {
      const ReadLock guard(target.node->mutex);
      target.inode = target.node->inode;
    } else if (entry->inode) {
      target.inode = *entry->inode;
    } else {
      auto inode = linked_inode(entry->ino);
      if (!inode && inode.error().errno_value == ESTALE) {
        // The last link went in between, and its name with it; a name that is still there leads nowhere.
        if (missing == entry->ino) return fail(leads_nowhere(entry->ino));
        missing = entry->ino;
        continue;
      }
      if (!inode) return fail(inode.error());
      target.inode = std::move(*inode);
    }
    return std::optional<Target>(std::move(target));
  }
}

void NodeRows::append_keys(std::vector<Key>& keys, InodeId parent, std::string_view name,
                           const Target& target) const {
  keys.push_back(entry_key(parent, name));
  if (target.linked) keys.push_back(Key::null_name(target.entry.ino));
  if (target.inode.home == Home::composite) keys.push_back(Key::null_name(target.inode.extent.composite));
}

Result<bool> NodeRows::directory_is_empty(const Target& target, const NodePtr& locked) const {
  if (locked && target.node == locked && locked->entry_count.is_zero()) return true;
  bool empty = true;
  CFFS_TRY_VOID(table_.scan_directory(target.entry.ino, 0, [&](Key, const Row& row) {
    empty = row.entries.empty();
    return empty;
  }));
  return empty;
}

Status NodeRows::check_place(const Node& node, Key row_key, std::string_view name) {
  if (node.row_key == row_key && (name.empty() || node.name == name)) return {};
  return fail(two_rows(node.ino));
}

Result<NodePtr> NodeRows::refer(const Inode& inode, Key row_key, bool row_alone, NodePtr parent,
                                std::string_view name) {
  NodePtr node = nodes_.acquire(inode.ino, row_key, [&] {
    return std::make_shared<Node>(remembered(inode), row_key, std::move(parent), name, row_alone);
  });
  if (!node) return fail(two_rows(inode.ino));
  return node;
}

Status NodeRows::put(Batch& batch, Node& node) {
  if (node.unlinked) return {};
  if (!node.inode.left_in_row) return put_whole(batch, node, node.inode);
  CFFS_TRY(const Inode inode, whole(node));
  return put_whole(batch, node, inode);
}

Status NodeRows::put_whole(Batch& batch, const Node& node, const Inode& whole) const {
  const std::string_view name = name_in_row(node);
  if (node.row_alone) {
    batch.put(node.row_key, encode_single_row(name, whole));
    return {};
  }
  CFFS_TRY(Row row, table_.get_row(node.row_key));
  Entry* entry = row.find(name);
  if (entry == nullptr) return fail(lost_row(node.ino));
  const std::size_t had = entry->inode ? bytes_of(entry->inode->xattrs) : 0;
  if (bytes_of(whole.xattrs) > had) CFFS_TRY_VOID(check_room(row, name, &whole));
  entry->inode = whole;
  batch.put_row(node.row_key, row);
  return {};
}

// Rows have attributes and targets as they are, whatever else of a node its row is behind in: so the node's own lock is enough
// to look.
Result<Inode> NodeRows::whole(const Node& node) const {
  Inode inode = node.inode;
  if (!inode.left_in_row) return inode;
  if (node.unlinked) {
    CFFS_TRY(const auto kept, table_.get(PendingRemoval::of_nameless(node.ino).key()));
    if (!kept) return fail(lost_row(node.ino));
    CFFS_TRY(const Inode row, decode_inode(*kept));
    take_long_parts(inode, row);
    return inode;
  }
  CFFS_TRY(const Row row, table_.get_row(node.row_key));
  const Entry* const entry = row.find(name_in_row(node));
  if (entry == nullptr || !entry->inode) return fail(lost_row(node.ino));
  take_long_parts(inode, *entry->inode);
  return inode;
}

Status NodeRows::change(Node& node, Inode whole) {
  Batch batch;
  const bool nameless = node.unlinked && has_long_parts(whole);
  if (nameless) CFFS_TRY_VOID(put_nameless(batch, node.ino, whole));
  if (!node.unlinked) CFFS_TRY_VOID(put_whole(batch, node, whole));
  CFFS_TRY_VOID(table_.write(batch));
  leave_long_parts(whole);
  node.inode = std::move(whole);
  node.nameless_row = node.nameless_row || nameless;
  if (!node.unlinked) node.row_stale = false;
  return {};
}

Status NodeRows::put_nameless(Batch& batch, InodeId ino, const Inode& whole) const {
  const Key key = PendingRemoval::of_nameless(ino).key();
  CFFS_TRY(const auto kept, table_.get(key));
  Inode row = whole;
  row.home = Home::none;
  row.size = 0;
  row.extent = {};
  row.sealed = false;
  if (kept) {  // its chunks, if any, are as many as they were
    CFFS_TRY(const Inode before, decode_inode(*kept));
    row.home = before.home;
    row.size = before.size;
  }
  std::string bytes;
  encode_inode(bytes, row);
  batch.put(key, bytes);
  return {};
}

void NodeRows::mark_stale(Node& node) {
  if (node.row_stale || node.unlinked) return;
  bool many = false;
  // The change is done by now, and must not be told as failed: without memory for the note, the row follows with an fsync of the
  // inode, or when its node is let go of.
  const Status noted = within_memory([&]() -> Status {
    const MutexLock guard(stale_mutex_);
    stale_.push_back(node.ino);
    many = tell_many_stale_ && stale_.size() % many_stale_ == 0;
    return {};
  });
  node.row_stale = true;
  if (!noted) return;
  if (many) tell_many_stale_();
}

void NodeRows::on_many_stale(std::size_t many, std::function<void()> tell) {
  many_stale_ = many;
  tell_many_stale_ = std::move(tell);
}

std::vector<InodeId> NodeRows::take_stale() {
  const MutexLock guard(stale_mutex_);
  return std::exchange(stale_, {});
}

std::vector<InodeId> NodeRows::stale() {
  const MutexLock guard(stale_mutex_);
  return stale_;
}

void NodeRows::still_stale(InodeId ino) {
  const MutexLock guard(stale_mutex_);
  stale_.push_back(ino);
}

Status NodeRows::flush(Node& node) {
  const NodeUpdate update(locks_, node);
  if (!node.row_stale || node.unlinked) return {};
  Batch batch;
  CFFS_TRY_VOID(put(batch, node));
  CFFS_TRY_VOID(table_.write(batch));
  node.row_stale = false;
  return {};
}

void NodeRows::touch_directory(Node& directory, std::int64_t now_ns) {
  const WriteLock guard(directory.mutex);
  directory.inode.mtime_ns = directory.inode.ctime_ns = now_ns;
  mark_stale(directory);
}

Status NodeRows::insert_entry(Batch& batch, Key key, Row row, Entry entry) {
  CFFS_TRY_VOID(check_room(row, entry.name, entry.inode ? &*entry.inode : nullptr));
  if (row.entries.size() == 1 && row.entries.front().inode) {
    if (const NodePtr neighbour = nodes_.find(row.entries.front().ino)) neighbour->row_alone = false;
  }
  row.insert(std::move(entry));
  batch.put_row(key, row);
  return {};
}

void NodeRows::note_staged(Batch& batch, Node& node) {
  if (node.parent && !node.unlinked) staged_.note(batch, *node.parent);
}

Status NodeRows::write(Batch& batch, CompositeAccounts& accounts) {
  CFFS_TRY(const auto outcome, accounts.write(batch));
  staged_.mark_wasteful(batch, outcome.wasteful, outcome.emptied);
  CFFS_TRY_VOID(table_.write(batch));
  for (const CompositeId id : outcome.emptied) removals_.queue_composite(id);
  staged_.note_wasteful(outcome.wasteful);
  freed_.forget(outcome.emptied);
  freed_.note(outcome.freed);
  return {};
}

}  // namespace cffs
