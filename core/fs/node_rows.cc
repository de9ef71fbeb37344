#include "core/fs/node_rows.h"

#include "core/fs/limits.h"
#include "core/fs/locking.h"

namespace cffs {

Error lost_row(InodeId ino) {
  return Error::corruption("inode " + std::to_string(ino.value) + " is not in the row where it was found");
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
  return nodes_.acquire(
      inode.ino, [&] { return std::make_shared<Node>(inode, row_key, std::move(parent), name, row_alone); });
}

Status NodeRows::put(Batch& batch, Node& node) {
  if (node.unlinked) return {};
  const bool null_name = node.row_key == Key::null_name(node.ino);
  const std::string_view name = null_name ? std::string_view() : std::string_view(node.name);
  if (node.row_alone) {
    batch.put(node.row_key, encode_single_row(name, node.inode));
    return {};
  }
  CFFS_TRY(Row row, table_.get_row(node.row_key));
  Entry* entry = row.find(name);
  if (entry == nullptr) return fail(lost_row(node.ino));
  entry->inode = node.inode;
  batch.put_row(node.row_key, row);
  return {};
}

Status NodeRows::write_or_restore(Node& node, const Inode& before) {
  Batch batch;
  Status done = put(batch, node);
  if (done) done = table_.write(batch);
  if (done) {
    node.row_stale = false;
  } else {
    node.inode = before;
  }
  return done;
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
  if (row.entries.size() >= kNamesOfOneHash) return fail(ENOSPC);
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
