#include "core/fs/rehousing.h"

#include <algorithm>
#include <array>

#include "core/base/control_groups.h"
#include "core/base/within_memory.h"
#include "core/fs/home_switch.h"
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

Result<bool> Rehousing::read_attributes(FileToMove& file) const {
  return renew(file) ? complete(file) : Result<bool>(false);
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

namespace {

// It may have changed or moved since it was looked at, by another of its names too, or be written to; else it is damage.
Result<bool> unless_changed(const Rehousing& rehousing, const FileToMove& file, const Error& problem) {
  CFFS_TRY(const auto now, rehousing.find(file.at, file.inode.ino));
  const bool same = now && same_content(now->inode, file.inode) && now->inode.sealed == file.inode.sealed;
  return same ? Result<bool>(fail(problem)) : Result<bool>(false);
}

}  // namespace

// As its node has it, if there is one. False: it is gone or has changed its home.
bool Rehousing::renew(FileToMove& file) const {
  const NodePtr live = nodes_.find(file.inode.ino);
  if (!live) return true;
  const ReadLock guard(live->mutex);
  if (live->unlinked || live->inode.home != file.inode.home) return false;
  file.inode = live->inode;
  return true;
}

Result<bool> Rehousing::read_content(FileToMove& file) const {
  if (!renew(file)) return false;
  if (file.inode.home == Home::blob) {
    // It may have grown since somebody chose it.
    if (file.inode.size > std::max(format_.inline_max, format_.composite_file_max)) return false;
    auto object = blobs_.open(file.inode.ino);
    if (!object && object.error().errno_value == ENOENT) return false;
    if (!object) return fail(object.error());
    file.content.resize(file.inode.size);
    CFFS_TRY(const std::size_t n, (*object)->read_at(0, as_writable_bytes(file.content)));
    if (n < file.content.size()) return false;
    return file.inode.sealed ? is_as_sealed(file, **object) : Result<bool>(true);
  }
  auto content = homes_.load_small(file.inode);
  if (!content) {
    return unless_changed(*this, file, content.error());
  }
  file.content = std::move(*content);
  return true;
}

// Bytes that have rotted must not get a checksum of their own where they go.
Result<bool> Rehousing::is_as_sealed(FileToMove& file, const Object& object) const {
  const InodeId ino = file.inode.ino;
  const Status same = homes_.sums().verify(ino, object, file.inode.size, 0, as_writable_bytes(file.content));
  return same ? Result<bool>(true) : unless_changed(*this, file, same.error());
}

bool Rehousing::is_worth_a_member(InodeId ino, std::uint64_t bytes, const Compression& how) const {
  if (bytes <= kPackedUnseen) return true;
  const auto blob = blobs_.open(ino);
  const auto info = blob ? (*blob)->info() : Result<ObjectInfo>(fail(blob.error()));
  if (!info || info->allocated < bytes - bytes / 4) return false;
  return is_worth_packing(how, bytes,
                          [&](std::uint64_t offset, Bytes out) { return (*blob)->read_at(offset, out); });
}

Result<std::optional<FileToMove>> Rehousing::member_at(const EntryName& at, const Sought& sought,
                                                       const TableSnapshot* rows) const {
  const Key key = at.name.empty() ? Key::null_name(sought.ino) : entry_key(at);
  CFFS_TRY(const auto value, rows != nullptr ? rows->get(key) : table_.get(key));
  if (!value) return std::optional<FileToMove>();
  CFFS_TRY(const Row row, decode_row(*value));
  const Entry* entry = row.find(at.name);
  const bool is_it =
      entry != nullptr && entry->inode && entry->ino == sought.ino && entry->inode->home == Home::composite &&
      entry->inode->extent.composite == sought.composite && entry->inode->extent.slot == sought.slot;
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

namespace {

// A copy takes its plain bytes, its frames and what is written, all at once; and others want some. What every member may have is not worth
// a look.
bool has_memory_for_copy(std::uint64_t bytes) {
  constexpr std::uint64_t kMemoryEach = 4;
  if (bytes <= kPackedUnseen) return true;
  const auto memory = available_memory();
  return !memory || *memory / kMemoryEach >= bytes;
}

}  // namespace

// The copy goes again where it does not come to be taken. Without memory for it the composite stays as it is.
Result<bool> Rehousing::pack(CompositeId id, const Compression& how,
                             std::span<const CompositeStore::Piece> zeros) {
  const Key key = Key::null_name(id);
  CFFS_TRY(const auto value, table_.get(key));
  if (!value || removals_.followed()) return false;
  CFFS_TRY(const CompositeRow row, decode_composite_row(*value));
  const bool grows = how == Compression{};
  // Plain, all of a large member would have to be read for each part of it.
  if (grows && row.members == 1 && row.size > kPackedUnseen) return false;
  if (!has_memory_for_copy(row.size)) return false;
  CFFS_TRY_VOID(grows ? space_.charge_mover(row.size) : space_.charge_to_give_back(row.size));
  CFFS_TRY_VOID(table_.begin_changes());  // only who recovers the store looks for a copy that was left
  // Asked of what has rotted alone. By one moment's rows: one that is renamed meanwhile is in them. What is in use without a name is, too.
  const auto is_used = [&](const RecordMeta& record) -> Result<bool> {
    const auto rows = table_.snapshot();
    CFFS_TRY(const auto files, members_of(record, id, rows.get()));
    return !files.empty() || is_in_use(record, id);
  };
  const auto made = within_memory([&] { return composites_.make_copy(id, row.size, how, zeros, is_used); });
  if (!made && made.error().errno_value == ENOMEM) {
    composites_.drop_copy(id);
    return false;
  }
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

Result<Rehousing::Switched> Rehousing::into_composite(const CompositeBuilder& builder, bool first,
                                                      grouping::PolicyId policy,
                                                      std::span<const FileToMove> files) {
  HomeSwitch batch(parts(), &builder, files);
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
  HomeSwitch batch(parts(), nullptr, files);
  for (std::size_t i = 0; i < files.size(); ++i) CFFS_TRY_VOID(batch.add_to_twin(i, files[i]));
  CFFS_TRY_VOID(batch.write(false));
  left = batch.refused();
  return batch.switched();
}

Status Rehousing::offer(const FileToMove& member) {
  HomeSwitch batch(parts(), nullptr, std::span(&member, 1));
  CFFS_TRY_VOID(batch.offer(0, member));
  return batch.write(false);
}

Result<std::size_t> Rehousing::into_table(std::span<const FileToMove> files) {
  std::size_t switched = 0;
  {
    HomeSwitch batch(parts(), nullptr, files);
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
  const auto seal_now = [&]() -> Result<bool> {
    CFFS_TRY(const bool made, homes_.sums().write(inode.ino, *object, inode.size, go_on));
    if (!made) return false;
    HomeSwitch batch(parts(), nullptr, std::span(&*file, 1));
    CFFS_TRY_VOID(batch.seal(0, *file));
    CFFS_TRY_VOID(batch.write(false));
    return batch.switched() == 1;
  };
  const auto sealed = seal_now();
  if (sealed && *sealed) return true;
  // Also where it failed in the midst: with the file nobody would look for rows of one that is not sealed.
  Batch none;
  Status erased = homes_.sums().erase(none, inode.ino);
  if (erased) erased = table_.write(none);
  if (!sealed) return fail(sealed.error());
  CFFS_TRY_VOID(std::move(erased));
  return false;
}

}  // namespace cffs
