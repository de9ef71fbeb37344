#include "core/fs/node_rows.h"

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

bool Target::same_place(const Target& other) const {
  return entry.ino == other.entry.ino && linked == other.linked && node == other.node &&
         inode.home == other.inode.home && inode.extent.composite == other.inode.extent.composite;
}

void Target::refresh() {
  if (!node) return;
  node->mutex.assert_held();
  inode = node->inode;
}

Key NodeRows::entry_key(InodeId directory, std::string_view name) const {
  // 0 belongs to the null name: an entry must not share the root's own row.
  const std::uint64_t hash = name_hash_(name);
  return Key::entry(directory, hash == 0 ? 1 : hash);
}

Result<NodePtr> NodeRows::node(InodeId ino) const {
  NodePtr found = nodes_.find(ino);
  if (!found) return fail(ESTALE);
  return found;
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

Result<std::optional<Target>> NodeRows::peek(InodeId parent, std::string_view name) const {
  for (std::optional<InodeId> missing;;) {
    Target target;
    CFFS_TRY(target.row, table_.get_row(entry_key(parent, name)));
    const Entry* entry = target.row.find(name);
    if (entry == nullptr) return std::optional<Target>();
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

Result<bool> NodeRows::directory_is_empty(InodeId ino) const {
  bool empty = true;
  CFFS_TRY_VOID(table_.scan_directory(ino, 0, [&](Key, const Row& row) {
    empty = row.entries.empty();
    return empty;
  }));
  return empty;
}

Status NodeRows::check_place(const Node& node, Key row_key, std::string_view name) {
  if (node.row_key == row_key && (name.empty() || node.name == name)) return {};
  return fail(Error::corruption("inode " + std::to_string(node.ino.value) + " has two rows"));
}

NodePtr NodeRows::refer(const Inode& inode, Key row_key, bool row_alone, NodePtr parent,
                        std::string_view name) {
  return nodes_.acquire(inode.ino, [&] {
    return std::make_shared<Node>(remembered(inode), row_key, std::move(parent), name, row_alone);
  });
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
  const MutexLock guard(stale_mutex_);
  stale_.push_back(node.ino);
  node.row_stale = true;
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
  return {};
}

}  // namespace cffs
