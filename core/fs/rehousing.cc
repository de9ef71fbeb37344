#include "core/fs/rehousing.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/fs/locking.h"
#include "core/fs/long_parts.h"
#include "core/packed/packer.h"

namespace cffs {

std::optional<FileToMove> Rehousing::look(Key key, InodeId directory, const Entry& entry) const {
  if (entry.name.empty() || !S_ISREG(entry.type)) return {};
  FileToMove file;
  file.row_key = key;
  file.at = {directory, entry.name};
  if (!entry.inode) file.row_key = Key::null_name(entry.ino);
  if (const NodePtr live = nodes_.find(entry.ino)) {
    const ReadLock guard(live->mutex);
    if (live->unlinked) return {};
    file.inode = live->inode;
  } else if (entry.inode) {
    file.inode = remembered(*entry.inode);
  } else if (auto inode = rows_.linked_inode(entry.ino)) {
    file.inode = remembered(std::move(*inode));
  } else {
    return {};
  }
  return file;
}

Rehousing::Referred Rehousing::referred(InodeId ino) const {
  const auto node = rows_.node(ino);
  if (!node) return {node.error().errno_value != ESTALE, {}};
  const Node& live = **node;
  const ReadLock guard(live.mutex);
  if (live.unlinked || !live.parent) return {true, {}};
  return {true, EntryName{live.parent->ino, live.name}};
}

Result<std::optional<FileToMove>> Rehousing::find(const EntryName& at, InodeId ino) const {
  const auto there = [&](const EntryName& where) -> Result<std::optional<FileToMove>> {
    const Key key = entry_key(where);
    CFFS_TRY(const Row row, table_.get_row(key));
    const Entry* entry = row.find(where.name);
    if (entry == nullptr || entry->ino != ino) return std::optional<FileToMove>();
    auto file = look(key, where.parent, *entry);
    return file ? std::move(file) : std::optional<FileToMove>();
  };
  CFFS_TRY(auto found, there(at));
  if (found) return found;
  if (const Referred now = referred(ino); now.at) {
    CFFS_TRY(found, there(*now.at));
    if (found) return found;
  }
  const auto renamed = renamed_.place_of(ino);
  return renamed ? there(*renamed) : std::optional<FileToMove>();
}

Result<bool> Rehousing::read(FileToMove& file) const {
  CFFS_TRY(const bool readable, read_content(file));
  return readable ? complete(file) : Result<bool>(false);
}

// A record of the file has all of its attributes.
Result<bool> Rehousing::complete(FileToMove& file) const {
  if (!file.inode.left_in_row) return true;
  CFFS_TRY(const Row row, table_.get_row(file.row_key));
  const bool null_name = file.row_key == Key::null_name(file.inode.ino);
  const Entry* const entry = row.find(null_name ? std::string_view() : std::string_view(file.at.name));
  if (entry == nullptr || !entry->inode || entry->ino != file.inode.ino) return false;
  take_long_parts(file.inode, *entry->inode);
  return true;
}

Result<bool> Rehousing::read_content(FileToMove& file) const {
  if (const NodePtr live = nodes_.find(file.inode.ino)) {
    const ReadLock guard(live->mutex);
    if (live->unlinked || live->inode.home != file.inode.home) return false;
    file.inode = live->inode;
  }
  if (file.inode.home == Home::blob) {
    // It may have grown since somebody chose it.
    if (file.inode.size > std::max(format_.inline_max, format_.composite_file_max)) return false;
    auto object = blobs_.open(file.inode.ino);
    if (!object && object.error().errno_value == ENOENT) return false;
    if (!object) return fail(object.error());
    file.content.resize(file.inode.size);
    CFFS_TRY(const std::size_t n, (*object)->read_at(0, as_writable_bytes(file.content)));
    return n == file.content.size();
  }
  auto content = homes_.load_small(file.inode);
  if (!content) {
    // It may have changed or moved since it was looked at, by another of its names too; else it is damage.
    CFFS_TRY(const auto now, find(file.at, file.inode.ino));
    if (!now || !same_content(now->inode, file.inode)) return false;
    return fail(content.error());
  }
  file.content = std::move(*content);
  return true;
}

bool Rehousing::is_worth_a_member(InodeId ino, std::uint64_t bytes, const Compression& how) const {
  if (bytes <= kPackedUnseen) return true;
  const auto blob = blobs_.open(ino);
  const auto info = blob ? (*blob)->info() : Result<ObjectInfo>(fail(blob.error()));
  if (!info || info->allocated < bytes - bytes / 4) return false;
  return is_worth_packing(how, bytes, [&](std::uint64_t offset, Bytes out) {
    return (*blob)->read_at(offset, out);
  });
}

Result<std::optional<FileToMove>> Rehousing::member_at(const EntryName& at, const Sought& sought,
                                                       const TableSnapshot* rows) const {
  const Key key = at.name.empty() ? Key::null_name(sought.ino) : entry_key(at);
  CFFS_TRY(const auto value, rows != nullptr ? rows->get(key) : table_.get(key));
  if (!value) return std::optional<FileToMove>();
  CFFS_TRY(const Row row, decode_row(*value));
  const Entry* entry = row.find(at.name);
  const bool is_it = entry != nullptr && entry->inode && entry->ino == sought.ino &&
                     entry->inode->home == Home::composite &&
                     entry->inode->extent.composite == sought.composite &&
                     entry->inode->extent.slot == sought.slot;
  if (!is_it) return std::optional<FileToMove>();
  FileToMove file;
  file.row_key = key;
  file.at = at;
  file.inode = remembered(*entry->inode);
  return std::optional<FileToMove>(std::move(file));
}

// A record names the place where the file was when it was written; since then it may have been renamed, or others share it (a member_files
// row), or been hard-linked (a null-name row). Most often nothing of that was.
Result<std::vector<FileToMove>> Rehousing::members_of(const RecordMeta& record, CompositeId id,
                                                      const TableSnapshot* rows) const {
  std::vector<FileToMove> members;
  const EntryName recorded{record.parent, record.name};
  const auto take = [&](const EntryName& at, InodeId ino) -> Result<bool> {
    CFFS_TRY(auto there, member_at(at, {ino, id, record.slot}, rows));
    if (there) members.push_back(std::move(*there));
    return there.has_value();
  };
  const auto take_linked = [&](const EntryName& last_at, InodeId ino) -> Status {
    CFFS_TRY(const bool there, take({last_at.parent, ""}, ino));
    if (there) members.back().at = last_at;
    return {};
  };
  const auto take_anywhere = [&](const EntryName& at, InodeId ino) -> Status {
    CFFS_TRY(const bool there, take(at, ino));
    return there ? Status() : take_linked(at, ino);
  };
  const bool may_be_several = table_.sharing() != Sharing::never;
  if (!may_be_several) {
    CFFS_TRY(const bool there, take(recorded, record.ino));
    if (there) return members;
  }
  const Key key = Key::member_files(id, record.slot);
  CFFS_TRY(const auto value, rows != nullptr ? rows->get(key) : table_.get(key));
  if (!value) {
    CFFS_TRY_VOID(may_be_several ? take_anywhere(recorded, record.ino) : take_linked(recorded, record.ino));
    return members;
  }
  CFFS_TRY(const MemberFiles now, decode_member_files(*value));
  for (const MemberFile& file : now.files) {
    const InodeId ino = file.ino.value == 0 ? record.ino : file.ino;
    CFFS_TRY_VOID(take_anywhere(file.at.name.empty() ? recorded : file.at, ino));
  }
  return members;
}

bool Rehousing::is_in_use(const RecordMeta& record, CompositeId id) const {
  if (homes_.nameless().records.holds(id, record.slot)) return true;
  const NodePtr node = nodes_.find(record.ino);
  if (!node) return false;
  const ReadLock guard(node->mutex);
  return node->inode.home == Home::composite && node->inode.extent.composite == id &&
         node->inode.extent.slot == record.slot;
}

Result<CompositeId> Rehousing::begin_composite() {
  CFFS_TRY(const std::uint64_t number, counter_.next());
  const CompositeId id{number};
  Batch intent;
  intent.put(PendingRemoval::of(id).key(), {});
  CFFS_TRY_VOID(table_.write(intent));
  return id;
}

// The copy goes again where it does not come to be taken.
Result<bool> Rehousing::pack(CompositeId id, const Compression& how,
                             std::span<const CompositeStore::Piece> zeros) {
  const Key key = Key::null_name(id);
  CFFS_TRY(const auto value, table_.get(key));
  if (!value || removals_.followed()) return false;
  CFFS_TRY(const CompositeRow row, decode_composite_row(*value));
  const bool grows = how == Compression{};
  // Plain, all of a large member would have to be read for each part of it.
  if (grows && row.members == 1 && row.size > kPackedUnseen) return false;
  CFFS_TRY_VOID(grows ? space_.charge_mover(row.size) : space_.charge_to_give_back(row.size));
  CFFS_TRY_VOID(table_.begin_changes());  // only who recovers the store looks for a copy that was left
  const auto made = composites_.make_copy(id, row.size, how, zeros);
  const bool is_gone = !made && made.error().errno_value == ENOENT;
  if (is_gone) {  // with its last member, meanwhile?
    CFFS_TRY(const auto now, table_.get(key));
    if (!now) return false;
  }
  if (!made || !*made) return made;
  // Who takes the row away has its stripe, and removes the object behind that, whichever it is by then.
  const RowLocks::Guard guard(locks_, std::array{key});
  const auto still = table_.get(key);
  const bool named = still && *still && !removals_.followed();
  const Status taken = named ? composites_.take_copy(id) : Status();
  if (!named || !taken) composites_.drop_copy(id);
  if (!still) return fail(still.error());
  if (!taken) return fail(taken.error());
  return named;
}

// One batch of switches: what is locked for it, what goes into it, and what follows once it is written.
class CFFS_SCOPED_CAPABILITY Rehousing::Batchwise {
 public:
  Batchwise(Rehousing& r, const CompositeBuilder* builder, std::span<const FileToMove> files)
      CFFS_ACQUIRE(row_stripes)
          CFFS_NO_THREAD_SAFETY_ANALYSIS  // by a member, which the analysis does not follow
      : r_(r),
        builder_(builder),
        stripes_(r.locks_, keys_of(builder, files)),
        live_(nodes_of(r, files)),
        nodes_(live_),
        accounts_(r.table_) {}
  ~Batchwise() CFFS_RELEASE() CFFS_NO_THREAD_SAFETY_ANALYSIS = default;
  Batchwise(const Batchwise&) = delete;
  Batchwise& operator=(const Batchwise&) = delete;

  // The i-th file of those locked goes to where its content is in the composite, or to the table (no builder).
  Status add(std::size_t i, const FileToMove& file, std::uint8_t policy) CFFS_REQUIRES(row_stripes) {
    CFFS_TRY(Entry* const entry, unchanged(i, file));
    if (entry == nullptr) {
      if (builder_ != nullptr && !file.shares_extent)
        accounts_.waste(builder_->extents()[file.extent_number]);
      return {};
    }
    Inode inode = current(i, *entry);
    if (builder_ != nullptr && file.shares_extent) {
      CFFS_TRY(const bool shared, share(inode, builder_->extents()[file.extent_number], file.at));
      if (!shared) {
        refused_.push_back(i);
        return {};
      }
    } else if (builder_ != nullptr) {
      CFFS_TRY_VOID(to_composite(inode, builder_->extents()[file.extent_number], policy));
    } else if (inode.size <= r_.format_.inline_max) {
      CFFS_TRY_VOID(to_table(inode, file.content));
    } else if (inode.home == Home::blob) {
      return {};  // where it should be
    } else {
      // The stripes stay locked while the blob is written: nobody may meet the file between two homes. One file at a time
      // is moved like this, and only when a store gives up its composites.
      CFFS_TRY(const auto blob, r_.homes_.make_blob(inode, file.content));
      blobs_made_.push_back(inode.ino);
      CFFS_TRY_VOID(r_.homes_.take_blob(inode, batch_, accounts_, blob, true));
    }
    settle(i, *entry, std::move(inode));
    return {};
  }

  // The i-th file's content is its twin's.
  Status add_to_twin(std::size_t i, const FileToMove& file) CFFS_REQUIRES(row_stripes) {
    CFFS_TRY(Entry* const entry, unchanged(i, file));
    if (entry == nullptr) return {};
    Inode inode = current(i, *entry);
    CFFS_TRY(const bool shared, share(inode, *file.twin, file.at));
    if (shared) {
      settle(i, *entry, std::move(inode));
    } else {
      refused_.push_back(i);
    }
    return {};
  }

  // Others may share what the i-th file has.
  Status offer(std::size_t i, const FileToMove& file) CFFS_REQUIRES(row_stripes) {
    CFFS_TRY(Entry* const entry, unchanged(i, file));
    if (entry == nullptr) return {};
    const Inode inode = current(i, *entry);
    if (inode.home == Home::composite) CFFS_TRY_VOID(accounts_.offer(inode.extent, inode.ino));
    return {};
  }

  // Says that the sums of the i-th file's blob are there, all of them.
  Status seal(std::size_t i, const FileToMove& file) CFFS_REQUIRES(row_stripes) {
    CFFS_TRY(Entry* const entry, unchanged(i, file));
    if (entry == nullptr) return {};
    Inode inode = current(i, *entry);
    inode.sealed = true;
    settle(i, *entry, std::move(inode));
    return {};
  }

  Status write(bool first) CFFS_REQUIRES(row_stripes) {
    for (const auto& [key, row] : rows_) {
      if (!row.entries.empty()) batch_.put_row(key, row);
    }
    if (builder_ != nullptr) {
      if (first) batch_.erase(PendingRemoval::of(builder_->id()).key());
      accounts_.grow(builder_->id(), builder_->object_bytes(), builder_->slots());
    }
    CFFS_TRY_VOID(r_.rows_.write(batch_, accounts_));
    for (auto& [node, inode] : changed_) {
      if (!node) continue;
      node->mutex.assert_held();
      node->inode = std::move(inode);
      node->row_stale = false;
      node->verified.store(0, std::memory_order_relaxed);
    }
    for (const InodeId ino : blobs_left_) r_.removals_.queue_blob(ino);
    return {};
  }

  // Nothing was written.
  void give_up() {
    for (const InodeId ino : blobs_made_) r_.homes_.drop_blob(ino);
  }

  std::size_t switched() const { return changed_.size(); }
  // Those that could not share what they were to share; they are where they were.
  const std::vector<std::size_t>& refused() const { return refused_; }

 private:
  static std::vector<Key> keys_of(const CompositeBuilder* builder, std::span<const FileToMove> files) {
    std::vector<Key> keys;
    if (builder != nullptr) keys.push_back(Key::null_name(builder->id()));
    for (const FileToMove& file : files) {
      keys.push_back(file.row_key);
      if (file.inode.home == Home::composite) keys.push_back(Key::null_name(file.inode.extent.composite));
      if (file.twin) keys.push_back(Key::null_name(file.twin->composite));
    }
    return keys;
  }
  static std::vector<NodePtr> nodes_of(const Rehousing& r, std::span<const FileToMove> files) {
    std::vector<NodePtr> nodes;
    for (const FileToMove& file : files) nodes.push_back(r.nodes_.find(file.inode.ino));
    return nodes;
  }

  // Row and node are to be this; `inode` is the node's, or the row's where there is no node.
  void settle(std::size_t i, Entry& entry, Inode inode) {
    Inode whole = inode;
    take_long_parts(whole, *entry.inode);
    entry.inode = std::move(whole);
    leave_long_parts(inode);
    changed_.emplace_back(live_[i], std::move(inode));
  }

  // The node knows more than its row, where there is one.
  Inode current(std::size_t i, const Entry& entry) const {
    const NodePtr& node = live_[i];
    if (!node) return *entry.inode;
    node->mutex.assert_held();
    return node->inode;
  }

  // The entry in its row, to be changed there; null: the file is not what it was when it was looked at.
  Result<Entry*> unchanged(std::size_t i, const FileToMove& file) {
    const auto known = rows_.find(file.row_key);
    if (known == rows_.end()) {
      CFFS_TRY(Row loaded, r_.table_.get_row(file.row_key));
      rows_.emplace(file.row_key, std::move(loaded));
    }
    const bool null_name = file.row_key == Key::null_name(file.inode.ino);
    Entry* const entry = rows_[file.row_key].find(null_name ? std::string_view() : file.at.name);
    if (entry == nullptr || !entry->inode || entry->ino != file.inode.ino) return nullptr;
    // Once is enough: nodes change after the batch, so a second time would look like the first.
    if (!met_.insert(entry->ino).second) return nullptr;
    if (const NodePtr& node = live_[i]) {
      node->mutex.assert_held();
      return same_content(node->inode, file.inode) && !node->unlinked ? entry : nullptr;
    }
    return same_content(*entry->inode, file.inode) ? entry : nullptr;
  }

  Status leave(Inode& inode) {
    CFFS_TRY_VOID(r_.homes_.leave(batch_, accounts_, inode));
    if (inode.home == Home::blob) blobs_left_.push_back(inode.ino);
    inode.allocated = 0;
    inode.sealed = false;
    return {};
  }
  Status to_composite(Inode& inode, const Extent& extent, std::uint8_t policy) {
    CFFS_TRY_VOID(leave(inode));
    inode.home = Home::composite;
    inode.extent = extent;
    accounts_.add(inode.extent, inode, policy);
    return {};
  }
  Result<bool> share(Inode& inode, const Extent& extent, const EntryName& at) {
    CFFS_TRY(const bool shared, accounts_.share(extent, inode, at));
    if (!shared) return false;
    CFFS_TRY_VOID(leave(inode));
    inode.home = Home::composite;
    inode.extent = extent;
    return true;
  }
  Status to_table(Inode& inode, std::string_view content) {
    CFFS_TRY_VOID(leave(inode));
    inode.home = Home::none;
    inode.extent = {};
    batch_.keep_data_in_rows();
    CFFS_TRY_VOID(r_.homes_.put_chunks(batch_, inode, 0, content));
    inode.home = inode.size > 0 ? Home::inline_ : Home::none;
    return {};
  }

  Rehousing& r_;
  const CompositeBuilder* const builder_;
  const RowLocks::Guard stripes_;
  const std::vector<NodePtr> live_;
  const NodeLocks nodes_;
  Batch batch_;
  CompositeAccounts accounts_;
  std::map<Key, Row> rows_;
  std::vector<std::pair<NodePtr, Inode>> changed_;
  std::vector<InodeId> blobs_left_;
  std::vector<InodeId> blobs_made_;
  std::set<InodeId> met_;
  std::vector<std::size_t> refused_;
};

Result<Rehousing::Switched> Rehousing::into_composite(const CompositeBuilder& builder, bool first,
                                                      grouping::PolicyId policy,
                                                      std::span<const FileToMove> files) {
  Batchwise batch(*this, &builder, files);
  if (!first) {
    CFFS_TRY(const auto row, table_.get(Key::null_name(builder.id())));
    if (!row) return Switched{0, true, {}};
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    CFFS_TRY_VOID(batch.add(i, files[i], static_cast<std::uint8_t>(policy)));
  }
  CFFS_TRY_VOID(batch.write(first));
  return Switched{batch.switched(), false, batch.refused()};
}

Result<std::size_t> Rehousing::into_twins(std::span<const FileToMove> files, std::vector<std::size_t>& left) {
  Batchwise batch(*this, nullptr, files);
  for (std::size_t i = 0; i < files.size(); ++i) CFFS_TRY_VOID(batch.add_to_twin(i, files[i]));
  CFFS_TRY_VOID(batch.write(false));
  left = batch.refused();
  return batch.switched();
}

Status Rehousing::offer(const FileToMove& member) {
  Batchwise batch(*this, nullptr, std::span(&member, 1));
  CFFS_TRY_VOID(batch.offer(0, member));
  return batch.write(false);
}

Result<std::size_t> Rehousing::into_table(std::span<const FileToMove> files) {
  std::size_t switched = 0;
  {
    Batchwise batch(*this, nullptr, files);
    Status done;
    for (std::size_t i = 0; i < files.size() && done; ++i) done = batch.add(i, files[i], 0);
    if (done) done = batch.write(false);
    if (!done) {
      batch.give_up();
      return fail(std::move(done).error());
    }
    switched = batch.switched();
  }
  homes_.limit_dirty();
  return switched;
}

bool Rehousing::waits_for_commit(InodeId ino) const { return homes_.is_dirty(ino); }

// Only who has the mutex makes sums, so rows of a file that is not sealed are nobody's, until the mutex goes. But the caller's look
// may be from long before: the file may have been sealed since, and renamed, and its sums are its own then.
Result<bool> Rehousing::seal(const FileToMove& seen, const std::function<bool()>& go_on) {
  const MutexLock one_at_a_time(seal_mutex_);
  CFFS_TRY(const auto file, find(seen.at, seen.inode.ino));
  if (!file) return false;
  if (file->inode.sealed) return true;  // somebody else just did
  if (!same_content(file->inode, seen.inode)) return false;
  const Inode& inode = file->inode;
  CFFS_TRY_VOID(space_.charge_mover(inode.size / kSumBlockBytes * sizeof(std::uint32_t)));
  // What the row says was noted before; what is written from now on is a change, and seals nothing.
  if (homes_.is_dirty(inode.ino)) CFFS_TRY_VOID(homes_.sync_dirty());
  CFFS_TRY(const auto object, homes_.object_of(inode));
  CFFS_TRY(bool sealed, homes_.sums().write(inode.ino, *object, inode.size, go_on));
  if (sealed) {
    Batchwise batch(*this, nullptr, std::span(&*file, 1));
    CFFS_TRY_VOID(batch.seal(0, *file));
    CFFS_TRY_VOID(batch.write(false));
    sealed = batch.switched() == 1;
  }
  if (sealed) return true;
  Batch none;
  CFFS_TRY_VOID(homes_.sums().erase(none, inode.ino));
  CFFS_TRY_VOID(table_.write(none));
  return false;
}

}  // namespace cffs
