// rename: one atomic batch (TableFS §3.5), whatever it replaces, exchanges or moves.
#include <map>

#include "core/base/bytes.h"
#include "core/fs/consolidator.h"
#include "core/fs/file_system.h"
#include "core/fs/locking.h"

namespace cffs {
namespace {

// The rows one rename changes, each read once: several of its entries may share a row.
class RowSet {
 public:
  explicit RowSet(const Table& table) : table_(table) {}
  // A row that was just read under its stripe.
  void know(Key key, const Row& row) { rows_.emplace(key, row); }
  Result<Row*> row(Key key) {
    const auto it = rows_.find(key);
    if (it != rows_.end()) return &it->second;
    CFFS_TRY(Row loaded, table_.get_row(key));
    return &rows_.emplace(key, std::move(loaded)).first->second;
  }
  // The node's attributes go into its row.
  Status put(const Node& node, Key null_key) {
    CFFS_TRY(Row* const in, row(node.row_key));
    Entry* const entry = in->find(node.row_key == null_key ? std::string_view() : node.name);
    CFFS_INVARIANT(entry != nullptr);
    entry->inode = node.inode;
    return {};
  }
  void write(Batch& batch) const {
    for (const auto& [key, row] : rows_) batch.put_row(key, row);
  }
  const std::map<Key, Row>& rows() const { return rows_; }

 private:
  const Table& table_;
  std::map<Key, Row> rows_;
};

bool is_below(NodePtr node, InodeId ancestor) {
  while (node) {
    if (node->ino == ancestor) return true;
    NodePtr up;
    {
      const std::shared_lock guard(node->mutex);
      up = node->parent;
    }
    node = std::move(up);
  }
  return false;
}

}  // namespace

Status FileSystem::rename(InodeId from_ino, std::string_view from_name, InodeId to_ino,
                          std::string_view to_name, RenameMode mode, const Caller& caller) {
  CFFS_TRY(const NodePtr from, directory(from_ino));
  CFFS_TRY(const NodePtr to, directory(to_ino));
  for (const std::string_view name : {from_name, to_name}) {
    if (name == "." || name == "..") return fail(EBUSY);
    if (name.size() > 255) return fail(ENAMETOOLONG);
    if (name.empty() || name.find('/') != std::string_view::npos) return fail(EINVAL);
  }
  const Key from_key = entry_key(from_ino, from_name);
  const Key to_key = entry_key(to_ino, to_name);
  const std::int64_t at = now();
  Inode whiteout;
  const bool must_be_free = mode == RenameMode::no_replace || mode == RenameMode::whiteout_no_replace;
  const bool leaves_whiteout = mode == RenameMode::whiteout || mode == RenameMode::whiteout_no_replace;
  if (leaves_whiteout) {
    whiteout.mode = S_IFCHR;
    CFFS_TRY_VOID(begin_inode(whiteout, *from, caller));
    whiteout.mode = S_IFCHR;
    whiteout.xattrs.clear();
  }

  for (;;) {
    CFFS_TRY(const auto source_seen, peek(from_ino, from_name));
    CFFS_TRY(const auto target_seen, peek(to_ino, to_name));
    if (!source_seen) return fail(ENOENT);
    if (target_seen && must_be_free) return fail(EEXIST);
    if (!target_seen && mode == RenameMode::exchange) return fail(ENOENT);
    if (target_seen && target_seen->entry.ino == source_seen->entry.ino) return {};
    const bool source_is_directory = source_seen->inode.is_directory();
    const bool target_is_directory = target_seen && target_seen->inode.is_directory();
    const bool replaces = target_seen && mode != RenameMode::exchange;

    std::unique_lock topology(topology_, std::defer_lock);
    if (from != to && (source_is_directory || target_is_directory)) topology.lock();
    if (source_is_directory && is_below(to, source_seen->entry.ino)) return fail(EINVAL);
    if (target_is_directory && mode == RenameMode::exchange && is_below(from, target_seen->entry.ino)) {
      return fail(EINVAL);
    }
    // The order of these answers is the kernel's: ancestors before types.
    if (replaces && target_is_directory && is_below(from, target_seen->entry.ino)) return fail(ENOTEMPTY);
    if (replaces && source_is_directory && !target_is_directory) return fail(ENOTDIR);
    if (replaces && !source_is_directory && target_is_directory) return fail(EISDIR);
    // Data before name: after a power cut the new name must not show zeros where the old content was.
    if (replaces && source_seen->inode.home == Home::blob) {
      const auto object = object_of(source_seen->inode, nullptr);
      if (!object) {
        // It may have been consolidated since that look; where it still is a blob, the missing object is damage.
        CFFS_TRY(const auto again, peek(from_ino, from_name));
        if (again && again->same_place(*source_seen)) return fail(object.error());
        continue;
      }
      CFFS_TRY_VOID((*object)->sync());
    }

    DirectoryLocks directories;
    directories.want(from, false);
    directories.want(to, false);
    if (replaces && target_is_directory && target_seen->node) directories.want(target_seen->node, true);
    directories.lock();
    if (to->unlinked || from->unlinked) return fail(ENOENT);

    std::vector<Key> keys{to_key};
    append_keys(keys, from_ino, from_name, *source_seen);
    if (target_seen) append_keys(keys, to_ino, to_name, *target_seen);
    const bool counts_links = (source_is_directory || target_is_directory) && (from != to || replaces);
    Key from_row, to_row;
    if (counts_links) {
      for (const auto& [node, key] : {std::pair(from, &from_row), std::pair(to, &to_row)}) {
        const std::shared_lock guard(node->mutex);
        *key = node->row_key;
        keys.push_back(*key);
      }
    }
    const RowLocks::Guard guard(locks_, keys);
    CFFS_TRY(auto source, peek(from_ino, from_name));
    CFFS_TRY(auto target, peek(to_ino, to_name));
    if (!source || !source->same_place(*source_seen)) continue;
    if (target.has_value() != target_seen.has_value()) continue;
    if (target && !target->same_place(*target_seen)) continue;
    if (replaces && target_is_directory) {
      CFFS_TRY(const bool empty, directory_is_empty(target->entry.ino));
      if (!empty) return fail(ENOTEMPTY);
    }
    std::optional<NodeLocks> nodes;
    nodes.emplace(std::vector<NodePtr>{source->node, target ? target->node : nullptr,
                                       counts_links ? from : nullptr, counts_links ? to : nullptr});
    if (counts_links && (from->row_key != from_row || to->row_key != to_row)) continue;
    if (source->node) source->inode = source->node->inode;
    if (target && target->node) target->inode = target->node->inode;
    if (!source->same_place(*source_seen) || (target && !target->same_place(*target_seen))) continue;

    Batch batch;
    RowSet rows(*table_);
    rows.know(from_key, source->row);
    if (target) rows.know(to_key, target->row);
    CompositeAccounts accounts(*table_);
    LinkDrop drop;

    // Takes one entry out of its row, its inode brought up to date for its new place.
    const auto take = [&](Target& moved, Key key, std::string_view name, InodeId new_parent,
                          std::string_view new_name) -> Result<Entry> {
      CFFS_TRY(Row* const row, rows.row(key));
      Entry* const found = row->find(name);
      CFFS_INVARIANT(found != nullptr);
      Entry entry = *found;
      row->erase(name);
      moved.inode.ctime_ns = at;
      entry.name = new_name;
      if (moved.linked) {
        batch.put(Key::null_name(moved.entry.ino), encode_single_row("", moved.inode));
      } else {
        if (moved.inode.home == Home::composite) {
          // The member's record names its old place; a row says where it went.
          moved.inode.extent.moved = true;
          std::string place;
          ByteWriter w(place);
          w.varint(new_parent.value);
          w.string(new_name);
          batch.put(Key::moved_member(moved.inode.extent.composite, moved.inode.extent.slot), place);
        }
        entry.inode = moved.inode;
      }
      return entry;
    };
    const auto place = [&](Key key, Entry entry) -> Status {
      CFFS_TRY(Row* const row, rows.row(key));
      row->insert(std::move(entry));
      return {};
    };

    CFFS_TRY(Entry moved, take(*source, from_key, from_name, to_ino, to_name));
    if (target && mode == RenameMode::exchange) {
      CFFS_TRY(Entry back, take(*target, to_key, to_name, from_ino, from_name));
      CFFS_TRY_VOID(place(from_key, std::move(back)));
    } else if (target) {
      CFFS_TRY(Row* const row, rows.row(to_key));
      row->erase(to_name);
      if (target_is_directory) {
        drop.last = true;
      } else {
        CFFS_TRY(drop, drop_link(batch, accounts, *target, at));
      }
    }
    CFFS_TRY_VOID(place(to_key, std::move(moved)));
    if (leaves_whiteout) {
      CFFS_TRY_VOID(place(from_key, Entry{std::string(from_name), whiteout.ino, S_IFCHR, whiteout}));
    }

    const Inode from_before = counts_links ? from->inode : Inode{};
    const Inode to_before = counts_links ? to->inode : Inode{};
    if (counts_links) {
      if (source_is_directory) {
        from->inode.nlink -= 1;
        to->inode.nlink += 1;
      }
      if (target_is_directory) {
        to->inode.nlink -= 1;
        if (mode == RenameMode::exchange) from->inode.nlink += 1;
      }
      CFFS_TRY_VOID(rows.put(*from, Key::null_name(from_ino)));
      CFFS_TRY_VOID(rows.put(*to, Key::null_name(to_ino)));
    }
    rows.write(batch);
    const auto is_staged = [](const Inode& inode) {
      return inode.is_regular() && (inode.home == Home::inline_ || inode.home == Home::blob);
    };
    if (is_staged(source->inode)) consolidator_->note(batch, *to);
    if (target && mode == RenameMode::exchange && is_staged(target->inode)) consolidator_->note(batch, *from);
    if (Status done = write_accounted(batch, accounts); !done) {
      if (counts_links) {
        from->inode = from_before;
        to->inode = to_before;
      }
      return done;
    }

    if (leaves_whiteout) file_count_->added(1);
    const auto settle = [&](Target& moved_target, Key key, const NodePtr& parent, std::string_view name) {
      if (!moved_target.node) return;
      Node& node = *moved_target.node;
      node.inode = moved_target.inode;
      node.row_stale = false;
      node.parent = parent;
      node.name = name;
      if (!moved_target.linked) node.row_key = key;
    };
    settle(*source, to_key, to, to_name);
    if (target && mode == RenameMode::exchange) {
      settle(*target, from_key, from, from_name);
    } else if (target) {
      finish_drop(*target, std::move(drop), at);
    }
    nodes.reset();
    // Entries that share a row must rewrite it whole from now on; row_alone is guarded by the stripe we hold.
    for (const auto& [key, row] : rows.rows()) {
      for (const Entry& entry : row.entries) {
        if (!entry.inode) continue;
        if (const NodePtr node = nodes_.find(entry.ino)) node->row_alone = row.entries.size() == 1;
      }
    }
    break;
  }
  touch_directory(*from, at);
  if (from != to) touch_directory(*to, at);
  return {};
}

}  // namespace cffs
