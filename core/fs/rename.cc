// rename: one atomic batch (TableFS §3.5), whatever it replaces, exchanges or moves.
//
// An operation in steps: examine what both names lead to, lock what that names (and look again), build the batch, write it,
// settle the nodes. Where the second look differs, it starts over.
#include <map>
#include <optional>

#include "core/fs/check_name.h"
#include "core/fs/engine.h"
#include "core/fs/limits.h"
#include "core/fs/link_drop.h"
#include "core/fs/locking.h"
#include "core/fs/long_parts.h"

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
  Status insert(Key key, Entry entry) {
    CFFS_TRY(Row* const in, row(key));
    CFFS_TRY_VOID(check_room(*in, entry.name, entry.inode ? &*entry.inode : nullptr));
    in->insert(std::move(entry));
    return {};
  }
  // The node's attributes go into its row.
  Status put(const Node& node) CFFS_REQUIRES_SHARED(node.mutex) {
    CFFS_TRY(Row* const in, row(node.row_key));
    const bool null_name = node.row_key == Key::null_name(node.ino);
    Entry* const entry = in->find(null_name ? std::string_view() : std::string_view(node.name));
    if (entry == nullptr || !entry->inode) return fail(lost_row(node.ino));
    Inode whole = node.inode;
    take_long_parts(whole, *entry->inode);
    entry->inode = std::move(whole);
    return {};
  }
  void write(Batch& batch) const {
    for (const auto& [key, row] : rows_) batch.put_row(key, row);
  }
  // Entries that share a row must rewrite it whole from now on; row_alone is guarded by the stripes.
  void tell_neighbours(NodeTable& nodes) const CFFS_REQUIRES(row_stripes) {
    for (const auto& [key, row] : rows_) {
      for (const Entry& entry : row.entries) {
        if (!entry.inode) continue;
        if (const NodePtr node = nodes.find(entry.ino)) node->row_alone = row.entries.size() == 1;
      }
    }
  }

 private:
  const Table& table_;
  std::map<Key, Row> rows_;
};

bool is_below(NodePtr node, InodeId ancestor) {
  while (node) {
    if (node->ino == ancestor) return true;
    NodePtr up;
    {
      const ReadLock guard(node->mutex);
      up = node->parent;
    }
    node = std::move(up);
  }
  return false;
}

Status check_renamed(std::string_view name) {
  if (name == "." || name == "..") return fail(EBUSY);
  if (name.size() > kNameMax) return fail(ENAMETOOLONG);
  if (name.empty() || name.find('/') != std::string_view::npos) return fail(EINVAL);
  return {};
}

bool is_staged(const Inode& inode) {
  return inode.is_regular() && (inode.home == Home::inline_ || inode.home == Home::blob);
}

}  // namespace

class Engine::RenameOperation {
 public:
  struct Side {
    NodePtr directory;
    std::string_view name;
    Key key;
    std::optional<Target> seen;  // without locks
    std::optional<Target> now;   // under them
    Key directory_row;           // where links are counted
    Inode directory_before;
  };

  RenameOperation(Engine& engine, Side from, Side to, RenameMode mode, std::int64_t at)
      : e_(engine),
        from_(std::move(from)),
        to_(std::move(to)),
        exchanges_(mode == RenameMode::exchange),
        must_be_free_(mode == RenameMode::no_replace || mode == RenameMode::whiteout_no_replace),
        at_(at) {}

  // The old name becomes this device.
  void leave(Inode whiteout) { whiteout_ = std::move(whiteout); }

  // False: both names led to one file.
  bool changed_anything() const { return changed_; }
  // One try. False: something changed between the look and the locks.
  Result<bool> run() {
    CFFS_TRY(const bool same_file, examine());
    if (same_file) return true;
    const bool moves_directory =
        from_.directory != to_.directory && (source_is_directory_ || target_is_directory_);
    if (!moves_directory) return run_examined();
    const MutexLock one_at_a_time(e_.topology_);
    return run_examined();
  }

 private:
  // What needs no lock but makes most renames fail or end. True: both names lead to one file, so there is nothing to do.
  Result<bool> examine() {
    epoch_ = e_.locks_.epoch();
    CFFS_TRY(from_.seen, e_.rows_.peek(from_.directory->ino, from_.name));
    to_.seen.reset();
    free_row_ = Row();
    if (!known_absent(to_.key)) {
      CFFS_TRY(to_.seen, e_.rows_.peek(to_.directory->ino, to_.name, &free_row_));
    }
    if (!from_.seen) return fail(ENOENT);
    if (to_.seen && must_be_free_) return fail(EEXIST);
    if (!to_.seen && exchanges_) return fail(ENOENT);
    if (to_.seen && to_.seen->entry.ino == from_.seen->entry.ino) return true;
    source_is_directory_ = from_.seen->inode.is_directory();
    target_is_directory_ = to_.seen && to_.seen->inode.is_directory();
    replaces_ = to_.seen && !exchanges_;
    counts_links_ =
        (source_is_directory_ || target_is_directory_) && (from_.directory != to_.directory || replaces_);
    return false;
  }

  bool known_absent(Key key) const {
    const RowLocks::SharedGuard guard(e_.locks_, key);
    return e_.absent_.still(guard, key);
  }

  Result<bool> run_examined() {
    CFFS_TRY_VOID(check_types());
    CFFS_TRY(const bool durable, make_data_durable());
    if (!durable) return false;

    DirectoryLocks directories;
    directories.want(from_.directory, false);
    directories.want(to_.directory, false);
    if (replaces_ && target_is_directory_ && to_.seen->node) directories.want(to_.seen->node, true);
    directories.lock();
    if (to_.directory->unlinked || from_.directory->unlinked) return fail(ENOENT);

    const RowLocks::Guard stripes(e_.locks_, keys());
    const bool unchanged = !stripes.changed_since(epoch_);
    CFFS_TRY(const bool same, look_again(unchanged));
    if (!same) return false;
    RowSet rows(*e_.table_);
    if (unchanged && !to_.now && from_.key != to_.key) rows.know(to_.key, free_row_);
    {
      const NodeLocks nodes({from_.now->node, to_.now ? to_.now->node : nullptr,
                             counts_links_ ? from_.directory : nullptr,
                             counts_links_ ? to_.directory : nullptr});
      if (!refresh()) return false;
      CFFS_TRY_VOID(build_and_write(rows));
    }
    rows.tell_neighbours(e_.nodes_);
    changed_ = true;
    return true;
  }

  // The order of these answers is the kernel's: ancestors before types.
  Status check_types() const {
    if (source_is_directory_ && is_below(to_.directory, from_.seen->entry.ino)) return fail(EINVAL);
    const bool below_target = target_is_directory_ && is_below(from_.directory, to_.seen->entry.ino);
    if (below_target) return fail(exchanges_ ? EINVAL : ENOTEMPTY);
    if (replaces_ && source_is_directory_ && !target_is_directory_) return fail(ENOTDIR);
    if (replaces_ && !source_is_directory_ && target_is_directory_) return fail(EISDIR);
    return {};
  }

  // Data before name: after a power cut the new name must not show zeros where the old content was. False: the file changed
  // its home meanwhile.
  Result<bool> make_data_durable() const {
    if (!replaces_ || from_.seen->inode.home != Home::blob) return true;
    const auto object = e_.homes_.object_of(from_.seen->inode);
    if (!object) {
      // It may have been consolidated since that look; where it still is a blob, the missing object is damage.
      CFFS_TRY(const auto again, e_.rows_.peek(from_.directory->ino, from_.name));
      if (again && again->same_place(*from_.seen)) return fail(object.error());
      return false;
    }
    Status done = (*object)->sync();
    if (done && !e_.table_->failed()) done = e_.dirty_objects_->sync_of(from_.seen->inode.ino, object->get());
    if (!done) {
      e_.table_->poison();  // as after an fsync that failed: what the medium holds is no longer known
      return fail(std::move(done).error());
    }
    return true;
  }

  std::vector<Key> keys() {
    std::vector<Key> keys{to_.key};
    for (Side* side : {&from_, &to_}) {
      if (side->seen) e_.rows_.append_keys(keys, side->directory->ino, side->name, *side->seen);
      if (!counts_links_) continue;
      const ReadLock guard(side->directory->mutex);
      side->directory_row = side->directory->row_key;
      keys.push_back(side->directory_row);
    }
    return keys;
  }

  Result<bool> look_again(bool unchanged) CFFS_REQUIRES(row_stripes) {
    for (Side* side : {&from_, &to_}) {
      const Target* const seen = side->seen ? &*side->seen : nullptr;
      CFFS_TRY(side->now, e_.rows_.look_again(side->directory, side->name, seen, unchanged));
      if (side->now.has_value() != side->seen.has_value()) return false;
      if (side->now && !side->now->same_place(*side->seen)) return false;
    }
    if (!replaces_ || !target_is_directory_) return true;
    CFFS_TRY(const bool empty, e_.rows_.directory_is_empty(*to_.now, to_.seen->node));
    if (!empty) return fail(ENOTEMPTY);
    return true;
  }

  // Under all locks: the nodes are the truth. False: one changed before it was locked.
  bool refresh() CFFS_REQUIRES(row_stripes) {
    for (Side* side : {&from_, &to_}) {
      if (counts_links_) {
        side->directory->mutex.assert_held();
        if (side->directory->row_key != side->directory_row) return false;
      }
      if (!side->now) continue;
      side->now->refresh();
      if (!side->now->same_place(*side->seen)) return false;
    }
    return true;
  }

  Status build_and_write(RowSet& rows) CFFS_REQUIRES(row_stripes) {
    rows.know(from_.key, from_.now->row);
    if (to_.now) rows.know(to_.key, to_.now->row);
    Batch batch;
    CompositeAccounts accounts(*e_.table_);
    LinkDrop drop(e_.homes_, e_.rows_, e_.removals_, e_.file_count_);
    CFFS_TRY_VOID(move_entries(batch, accounts, rows, drop));
    save_link_counts();
    Status done = count_links(rows);
    if (done) {
      rows.write(batch);
      if (is_staged(from_.now->inode)) e_.staged_.note(batch, *to_.directory);
      if (exchanges_ && is_staged(to_.now->inode)) e_.staged_.note(batch, *from_.directory);
      if (!exchanges_ && !to_.now) to_.directory->entry_count.comes();
      if (replaces_ && !source_is_directory_) {
        // What goes may be durable; so must be what it makes way for, also where that leaves the table before anybody syncs it.
        e_.homes_.note_durable_below(from_.now->entry.ino.value + 1);
      }
      if (whiteout_) from_.directory->entry_count.comes();
      done = e_.rows_.write(batch, accounts);
    }
    if (!done) {
      restore_link_counts();
      return done;
    }
    if (!exchanges_) from_.directory->entry_count.went();
    if (whiteout_) e_.file_count_.added(1);
    settle(*from_.now, to_);
    if (exchanges_) {
      settle(*to_.now, from_);
    } else if (to_.now) {
      drop.finish(*to_.now, at_);
    }
    return {};
  }

  Status move_entries(Batch& batch, CompositeAccounts& accounts, RowSet& rows, LinkDrop& drop)
      CFFS_REQUIRES(row_stripes) {
    CFFS_TRY(Entry moved, take(batch, accounts, rows, from_, to_));
    if (exchanges_) {
      CFFS_TRY(Entry back, take(batch, accounts, rows, to_, from_));
      CFFS_TRY_VOID(rows.insert(from_.key, std::move(back)));
    } else if (to_.now) {
      CFFS_TRY(Row* const row, rows.row(to_.key));
      row->erase(to_.name);
      if (target_is_directory_) {
        CFFS_TRY_VOID(drop.build_directory(batch, *to_.now));
      } else {
        CFFS_TRY_VOID(drop.build(batch, accounts, *to_.now, at_));
      }
    }
    CFFS_TRY_VOID(rows.insert(to_.key, std::move(moved)));
    if (!whiteout_) return {};
    return rows.insert(from_.key, Entry{std::string(from_.name), whiteout_->ino, S_IFCHR, *whiteout_});
  }

  // Takes an entry out of its row, its inode brought up to date for its new place.
  Result<Entry> take(Batch& batch, CompositeAccounts& accounts, RowSet& rows, Side& side,
                     const Side& there) const {
    CFFS_TRY(Row* const row, rows.row(side.key));
    Entry* const found = row->find(side.name);
    if (found == nullptr) return fail(lost_row(side.now->entry.ino));
    Entry entry = *found;
    row->erase(side.name);
    Inode& inode = side.now->inode;
    inode.ctime_ns = at_;
    entry.name = there.name;
    if (side.now->linked) {
      Inode whole = inode;
      if (inode.left_in_row) {
        CFFS_TRY(const Inode in_row, e_.rows_.linked_inode(entry.ino));
        take_long_parts(whole, in_row);
      }
      batch.put(Key::null_name(entry.ino), encode_single_row("", whole));
      return entry;
    }
    if (inode.home == Home::composite) {
      // The member's record names its old place; a row says where it went.
      inode.extent.moved = true;
      accounts.move(inode.extent, inode.ino, {there.directory->ino, std::string(there.name)});
    }
    if (!entry.inode) return fail(lost_row(entry.ino));
    Inode whole = inode;
    take_long_parts(whole, *entry.inode);
    entry.inode = std::move(whole);
    return entry;
  }

  void save_link_counts() {
    for (Side* side : {&from_, &to_}) {
      if (!counts_links_) continue;
      side->directory->mutex.assert_held();
      side->directory_before = side->directory->inode;
    }
  }
  void restore_link_counts() {
    for (const Side* side : {&from_, &to_}) {
      if (!counts_links_) continue;
      side->directory->mutex.assert_held();
      side->directory->inode = side->directory_before;
    }
  }
  // ".." of a directory is a link to where it lies.
  Status count_links(RowSet& rows) {
    if (!counts_links_) return {};
    Node& from = *from_.directory;
    Node& to = *to_.directory;
    from.mutex.assert_held();
    to.mutex.assert_held();
    if (source_is_directory_) {
      from.inode.nlink -= 1;
      to.inode.nlink += 1;
    }
    if (target_is_directory_) {
      to.inode.nlink -= 1;
      if (exchanges_) from.inode.nlink += 1;
    }
    CFFS_TRY_VOID(rows.put(from));
    return rows.put(to);
  }

  void settle(const Target& moved, const Side& there) const {
    if (S_ISREG(moved.entry.type)) e_.renamed_.note(moved.entry.ino, there.directory->ino, there.name);
    if (!moved.node) return;
    Node& node = *moved.node;
    node.mutex.assert_held();
    node.inode = remembered(moved.inode);
    node.row_stale = false;
    node.parent = there.directory;
    node.name = there.name;
    if (!moved.linked) node.row_key = there.key;
  }

  Engine& e_;
  Side from_, to_;
  const bool exchanges_, must_be_free_;
  const std::int64_t at_;
  std::uint64_t epoch_ = 0;  // of the look without locks
  Row free_row_;             // that the new name comes into, as it was then
  std::optional<Inode> whiteout_;
  bool source_is_directory_ = false, target_is_directory_ = false;
  bool changed_ = false;
  bool replaces_ = false;      // what is at the new name goes
  bool counts_links_ = false;  // the parents' link counts change
};

Status Engine::rename(InodeId from_ino, std::string_view from_name, InodeId to_ino, std::string_view to_name,
                      RenameMode mode, const Caller& caller) {
  CFFS_TRY(const NodePtr from, rows_.directory(from_ino));
  CFFS_TRY(const NodePtr to, rows_.directory(to_ino));
  for (const std::string_view name : {from_name, to_name}) CFFS_TRY_VOID(check_renamed(name));
  // A row with a longer name, or one more that says where a member is now. Of what is kept free, too: only the table's own share is not for
  // this, or names alone could stop it for good.
  const std::uint64_t bytes = from_name.size() + to_name.size();
  CFFS_TRY_VOID(space_.charge_name(bytes));
  const std::int64_t at = now();
  RenameOperation operation(*this, {from, from_name, rows_.entry_key(from_ino, from_name), {}, {}, {}, {}},
                            {to, to_name, rows_.entry_key(to_ino, to_name), {}, {}, {}, {}}, mode, at);
  if (mode == RenameMode::whiteout || mode == RenameMode::whiteout_no_replace) {
    Inode whiteout;
    whiteout.mode = S_IFCHR;
    CFFS_TRY_VOID(begin_inode(whiteout, *from, caller));
    whiteout.mode = S_IFCHR;
    whiteout.xattrs.clear();
    operation.leave(std::move(whiteout));
  }
  for (bool done = false; !done;) {
    CFFS_TRY(done, operation.run());
  }
  if (!operation.changed_anything()) return {};
  rows_.touch_directory(*from, at);
  if (from != to) rows_.touch_directory(*to, at);
  return {};
}

}  // namespace cffs
