#include "core/repair/repair.h"

#include <algorithm>
#include <optional>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/fs/recovery.h"
#include "core/fs/rehousing.h"
#include "core/fs/removals.h"
#include "core/table/catalogue.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr const char* kName = "lost+found";  // in the root of the tree, as of ext4

std::string number(std::uint64_t n) { return std::to_string(n); }

// A table is made anew from what can be read of its files; the old ones stay, in table/lost.
Result<std::vector<std::string>> rebuild_damaged_table(ObjectStore& store, std::vector<std::string> damaged) {
  CFFS_TRY(const auto lock, store.lock("cffs fsck"));
  CFFS_TRY(const StoreFormat format, read_format(store));
  CFFS_TRY_VOID(Table::rebuild(store, format.values_apart));
  damaged.emplace_back(
      "the table was made anew from the rows that can be read; the damaged files are kept in table/lost");
  return damaged;
}

// What is counted was changed behind the count's back: the next mount counts anew.
Status forget_file_count(ObjectStore& store) {
  CFFS_TRY(const auto lock, store.lock("cffs fsck"));
  CFFS_TRY(const StoreFormat format, read_format(store));
  TableOptions options;
  options.values_apart = format.values_apart;
  CFFS_TRY(const auto table, Table::open(store, options));
  Batch batch;
  batch.erase(system_key(SystemField::file_count));
  CFFS_TRY_VOID(table->write(batch));
  return table->sync();
}

}  // namespace

Result<std::vector<std::string>> repair_store(ObjectStore& store, FileSystemOptions options) {
  std::vector<std::string> mended;
  options.keep_what_is_whole = true;
  options.background = false;
  options.read_only = false;
  CFFS_TRY(const bool restored, restore_format(store));
  if (restored) mended.emplace_back("the superblock, or its copy, was damaged: put back from the other");
  auto opened = FileSystem::open(store, options);
  if (!opened && opened.error().kind == ErrorKind::corruption) {  // files of the table are missing
    CFFS_TRY(const auto names, store.list("table"));
    if (names.empty()) return fail(opened.error());
    CFFS_TRY(const auto sentences, rebuild_damaged_table(store, {opened.error().message()}));
    mended.insert(mended.end(), sentences.begin(), sentences.end());
    opened = FileSystem::open(store, options);
  }
  if (!opened) return fail(opened.error());
  auto fs = std::move(*opened);
  for (const LogDamage& damage : fs->table().dropped()) mended.push_back(damage.sentence());
  CFFS_TRY(auto damaged, fs->table().find_damaged_files());
  if (!damaged.empty()) {
    CFFS_TRY_VOID(fs->close());
    CFFS_TRY(const auto sentences, rebuild_damaged_table(store, std::move(damaged)));
    mended.insert(mended.end(), sentences.begin(), sentences.end());
    CFFS_TRY(fs, FileSystem::open(store, options));
  }
  CFFS_TRY(const auto sentences, Repair(*fs).run());
  mended.insert(mended.end(), sentences.begin(), sentences.end());
  CFFS_TRY_VOID(fs->close());
  fs.reset();
  if (!mended.empty()) CFFS_TRY_VOID(forget_file_count(store));
  return mended;
}

Result<std::vector<std::string>> Repair::run() {
  CFFS_TRY_VOID(mend_values());
  CFFS_TRY_VOID(look());
  CFFS_TRY_VOID(mend_removals());
  CFFS_TRY_VOID(mend_counter());  // before anything is made
  CFFS_TRY_VOID(mend_directories());
  CFFS_TRY_VOID(mend_links());
  CFFS_TRY_VOID(mend_compression());
  CFFS_TRY_VOID(mend_sharing());
  CFFS_TRY_VOID(mend_accounts());
  CFFS_TRY_VOID(mend_data());
  CFFS_TRY_VOID(mend_seals());
  CFFS_TRY_VOID(fs_.sync());
  CFFS_TRY_VOID(look());  // what was made in between has names and objects, too
  CFFS_TRY_VOID(mend_link_counts());
  CFFS_TRY_VOID(drop_damaged_catalogue());
  CFFS_TRY_VOID(keep_lost_objects());
  CFFS_TRY_VOID(fs_.table().sync());
  return std::move(mended_);
}

Status Repair::look() {
  parents_.clear();
  directories_.clear();
  linked_.clear();
  miscounted_.clear();
  inline_.clear();
  composites_.clear();
  accounts_.clear();
  sealed_.clear();
  nameless_.clear();
  not_to_be_removed_.clear();
  sharing_.emplace(fs_.table());
  wanted_.clear();
  NamespaceVisitor visitor;
  visitor.entries = [&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) look_at(key, entry);
    return true;
  };
  visitor.member_files = [&](CompositeId id, std::uint32_t slot, const MemberFiles& row) {
    sharing_->note(id, slot, row);
    return true;
  };
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    composites_[id] = row;
    wanted_.insert(CompositeStore::object_name(id));
    return true;
  };
  Status noted;
  visitor.damaged = [&](Key key, const Error&) {  // what its row was is not known: its object stays
    noted = sharing_->note_damaged(key);
    wanted_.insert(CompositeStore::object_name(CompositeId{key.upper}));
    return true;
  };
  CFFS_TRY_VOID(fs_.table().scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && !removal->is_object()) nameless_.insert(removal->number);
    return true;
  }));
  CFFS_TRY_VOID(fs_.table().scan_namespace(visitor));
  CFFS_TRY_VOID(noted);
  CFFS_TRY(const auto live, sharing_->live_bytes());
  for (const auto& [id, bytes] : live) accounts_[id].live_bytes = bytes;
  return fs_.table().scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && removal->is_object() && !wanted_.insert(object_name(*removal)).second)
      not_to_be_removed_.push_back(*removal);
    return true;
  });
}

void Repair::look_at(Key key, const Entry& entry) {
  const std::uint64_t ino = entry.ino.value;
  sharing_->note(key, entry);
  numbers_.note(entry);
  if (nameless_.erase(ino) > 0) not_to_be_removed_.push_back(PendingRemoval::of_nameless(entry.ino));
  if (!entry.name.empty()) parents_.insert(key.upper);
  if (!entry.inode) {
    linked_[ino].names.push_back({key, {InodeId{key.upper}, entry.name}});
    return;
  }
  const Inode& inode = *entry.inode;
  if (entry.name.empty() && entry.ino != kRootInode) {
    linked_[ino].has_row = true;
    linked_[ino].counted = inode.nlink;
  }
  if (inode.is_directory()) {
    Directory& directory = directories_[ino];
    directory.has_row = true;
    directory.row = key;
    directory.name = entry.name;
    directory.counted = inode.nlink;
    if (!entry.name.empty()) ++directories_[key.upper].subdirectories;
  }
  if (!inode.is_directory() && !entry.name.empty() && inode.nlink != 1) {
    miscounted_.push_back({key, entry.ino, entry.name});
  }
  if (inode.home == Home::inline_) inline_[ino] = inode.size;
  if (inode.home == Home::blob) wanted_.insert(BlobStore::object_name(entry.ino));
  if (inode.sealed) sealed_[entry.ino] = {key, entry.name, inode.size};
  if (inode.home == Home::composite) {
    Account& account = accounts_[inode.extent.composite];
    ++account.members;
    account.widest.mode |= inode.mode & 07777;
    account.widest.uid = inode.uid;
    account.widest.gid = inode.gid;
    wanted_.insert(CompositeStore::object_name(inode.extent.composite));
  }
}

// Referred to as long as the store is open.
Result<InodeId> Repair::lost_and_found() {
  auto there = fs_.lookup(kRootInode, kName);
  if (!there && there.error().errno_value == ENOENT) {
    there = fs_.mkdir(kRootInode, kName, 0700, Caller::privileged(0, 0));
  }
  if (!there) return fail(there.error());
  if ((there->mode & S_IFMT) != S_IFDIR) return fail(ENOTDIR, "/lost+found");
  return there->ino;
}

// A directory with entries and no row gets one in /lost+found.
Status Repair::mend_directories() {
  for (const std::uint64_t ino : parents_) {
    if (directories_[ino].has_row) continue;
    CFFS_TRY(const InodeId parent, lost_and_found());
    const EntryName at{parent, "#" + number(ino)};
    const Key key = fs_.rehousing().entry_key(at);
    CFFS_TRY(Row row, fs_.table().get_row(key));
    Inode inode;
    inode.ino = InodeId{ino};
    inode.mode = S_IFDIR | 0700;
    inode.nlink = 2 + directories_[ino].subdirectories;
    inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns = fs_.clock().now_ns();
    if (row.find(at.name) == nullptr) row.insert(Entry{at.name, inode.ino, S_IFDIR, inode});
    Batch batch;
    batch.put_row(key, row);
    CFFS_TRY_VOID(fs_.table().write(batch));
    mended("directory " + number(ino) + " had entries and no row: it is /lost+found/" + at.name);
  }
  return {};
}

// The rows of directories that the engine knows were written just before.
Status Repair::mend_link_counts() {
  for (const auto& [ino, directory] : directories_) {
    if (!directory.has_row) continue;
    const std::uint64_t links = 2 + directory.subdirectories;
    if (directory.counted == links) continue;
    CFFS_TRY_VOID(set_links(directory.row, directory.name, links));
    mended("directory " + number(ino) + " had " + number(directory.counted) + " links: " + number(links));
  }
  return {};
}

Status Repair::mend_links() {
  for (const auto& [key, ino, name] : miscounted_) {
    CFFS_TRY_VOID(set_links(key, name, 1));
    mended("inode " + number(ino.value) + ", which has one name, counted others: 1");
  }
  for (auto& [ino, linked] : linked_) {
    if (!linked.has_row) {
      for (const auto& [key, at] : linked.names) {
        CFFS_TRY(Row row, fs_.table().get_row(key));
        if (row.find(at.name) == nullptr) continue;
        row.erase(at.name);
        Batch batch;
        batch.put_row(key, row);
        CFFS_TRY_VOID(fs_.table().write(batch));
        mended("the name '" + at.name + "' in directory " + number(at.parent.value) + " led to inode " +
               number(ino) + ", which is gone: removed");
      }
    } else if (linked.counted != linked.names.size() && !linked.names.empty()) {
      CFFS_TRY_VOID(set_links(Key::null_name(InodeId{ino}), "", linked.names.size()));
      mended("inode " + number(ino) + " counted " + number(linked.counted) +
             " links: " + number(linked.names.size()));
    }
  }
  return {};
}

Status Repair::set_links(Key key, const std::string& name, std::uint64_t links) {
  CFFS_TRY(Row row, fs_.table().get_row(key));
  Entry* entry = row.find(name);
  if (entry == nullptr || !entry->inode) return {};
  entry->inode->nlink = static_cast<decltype(entry->inode->nlink)>(links);
  Batch batch;
  batch.put_row(key, row);
  return fs_.table().write(batch);
}

Status Repair::mend_accounts() {
  for (const auto& [id, account] : accounts_) {
    if (!composites_.contains(id)) CFFS_TRY_VOID(rebuild_account(id, account));
  }
  for (const auto& [id, row] : composites_) {
    CFFS_TRY_VOID(mend_index(id));
    const auto found = accounts_.find(id);
    CFFS_TRY_VOID(mend_account(id, found == accounts_.end() ? Account() : found->second));
  }
  return {};
}

// Without that row nobody looks whether a composite is packed.
Status Repair::mend_compression() {
  CFFS_TRY(const auto row, fs_.table().get(system_key(SystemField::compression)));
  if (row && decode_compression(*row)) return {};
  for (const auto& [id, account] : composites_) {
    const auto object = fs_.composites().open(id);
    const Compression how = object ? CompositeStore::compression_of(**object) : Compression{};
    if (how == Compression{}) continue;
    mended("how composites are compressed was lost: " + compression_text(how) + ", as " +
           CompositeStore::object_name(id) + " is");
    return fs_.compress(how);
  }
  if (!row) return {};
  mended("how composites are compressed was malformed: none is");
  return fs_.compress(Compression{});
}

Status Repair::mend_sharing() {
  CFFS_TRY(const auto sentences, sharing_->run());
  for (const std::string& sentence : sentences) mended(sentence);
  return {};
}

// What cannot be opened the check names.
Status Repair::mend_index(CompositeId id) {
  const auto object = fs_.composites().open(id);
  if (!object || CompositeStore::check_index(**object)) return {};
  const auto packed = fs_.rehousing().pack(id, fs_.compression());
  if (packed && *packed) mended(CompositeStore::object_name(id) + " had a damaged index of its frames");
  return {};
}

Status Repair::mend_account(CompositeId id, const Account& account) {
  CompositeRow row = composites_[id];
  if (row.members == account.members && row.live_bytes == account.live_bytes) return {};
  const std::string name = CompositeStore::object_name(id);
  Batch batch;
  if (account.members == 0) {
    batch.erase(Key::null_name(id));
    wanted_.erase(name);
    mended(name + " has no members any more: no row");
  } else {
    const std::uint64_t data = row.live_bytes + row.freed_bytes;
    mended(name + " counted " + number(row.members) + " members, " + number(row.live_bytes) +
           " bytes: " + number(account.members) + ", " + number(account.live_bytes));
    row.members = account.members;
    row.live_bytes = account.live_bytes;
    row.freed_bytes = data > row.live_bytes ? data - row.live_bytes : 0;
    batch.put(Key::null_name(id), encode_composite_row(row));
  }
  return fs_.table().write(batch);
}

// Size and records are the object's own word.
Status Repair::rebuild_account(CompositeId id, const Account& account) {
  const auto object = fs_.composites().open(id);
  if (!object) return {};  // missing: the check names it
  CFFS_TRY(const ObjectInfo info, (*object)->info());
  CompositeRow row = account.widest;
  row.size = info.size;
  std::uint64_t data = 0;
  (void)fs_.composites().scan(id, info.size, [&](const RecordMeta& record, std::uint64_t) {
    row.slots = record.slot + std::uint64_t{1};
    data += record.data_length;
  });
  row.members = account.members;
  row.live_bytes = account.live_bytes;
  row.freed_bytes = data > row.live_bytes ? data - row.live_bytes : 0;
  Batch batch;
  batch.put(Key::null_name(id), encode_composite_row(row));
  CFFS_TRY_VOID(fs_.table().write(batch));
  mended(CompositeStore::object_name(id) + " had members and no row: made from its records");
  return {};
}

// Chunks of a file whose row is gone become a file in /lost+found; chunks beyond a file's end go.
Status Repair::mend_data() {
  std::set<std::uint64_t> lost;
  Batch beyond;
  CFFS_TRY_VOID(fs_.table().scan_tag(KeyTag::file_data, [&](Key key, std::string_view value) {
    const auto file = inline_.find(key.number());
    if (file == inline_.end() && nameless_.contains(key.number())) return true;  // goes with its row
    if (file == inline_.end()) {
      lost.insert(key.number());
      return true;
    }
    const std::uint64_t at = std::min(key.lower, kFileMax / kChunkBytes) * kChunkBytes;
    if (at + value.size() <= file->second) return true;
    mended("data of inode " + number(key.number()) + " reached beyond its end: cut");
    if (at >= file->second) {
      beyond.erase(key, kChunkBytes);
    } else {
      beyond.put(key, value.substr(0, file->second - at));
    }
    return true;
  }));
  CFFS_TRY_VOID(fs_.table().write(beyond));
  for (const std::uint64_t ino : lost) CFFS_TRY_VOID(find_place_for(InodeId{ino}));
  return {};
}

// A chunk at a time: how many there are is for whoever wrote them to say. One that no small file can have is a file of its own.
Status Repair::find_place_for(InodeId ino) {
  constexpr std::uint64_t kChunks = kSmallFileMax / kChunkBytes;
  std::set<std::string> names;
  Status done;
  CFFS_TRY_VOID(fs_.table().scan(Key::data(ino, 0), Key::data(ino, ~std::uint64_t{0}),
                                 [&](Key key, std::string_view bytes) {
                                   const bool possible = key.lower < kChunks && bytes.size() <= kChunkBytes;
                                   std::string name = "#" + number(ino.value);
                                   if (!possible) name += "-" + number(key.lower);
                                   done = append_lost(name, possible ? key.lower * kChunkBytes : 0, bytes);
                                   Batch moved;
                                   moved.erase(key, kChunkBytes);
                                   if (done) done = fs_.table().write(moved);
                                   names.insert(std::move(name));
                                   return done.has_value();
                                 }));
  CFFS_TRY_VOID(done);
  for (const std::string& name : names) {
    mended("data of inode " + number(ino.value) + ", which has no row, is /lost+found/" + name);
  }
  return {};
}

// A file of this name in /lost+found, made where it is not there, has the bytes then.
Status Repair::append_lost(const std::string& name, std::uint64_t offset, std::string_view bytes) {
  const Caller root = Caller::privileged(0, 0);
  CFFS_TRY(const InodeId parent, lost_and_found());
  auto file = fs_.lookup(parent, name);
  if (!file) file = fs_.mknod(parent, name, S_IFREG | 0600, 0, root);
  if (!file) return fail(file.error());
  const Status done = fs_.write(file->ino, offset, as_bytes(bytes), root);
  fs_.forget(file->ino, 1);
  return done;
}

// Where rows of checksums are gone, those that are left cannot be told from ones that mean something: the next sealing makes them
// anew. What the blob holds is not judged by that.
Status Repair::mend_seals() {
  const BlobSums sums(fs_.table());
  for (const auto& [ino, sealed] : sealed_) {
    const auto object = fs_.objects().open(BlobStore::object_name(ino));
    if (!object) continue;  // missing: the check names it
    CFFS_TRY(const bool complete, sums.complete(ino, **object, sealed.size));
    if (complete) continue;
    CFFS_TRY(Row row, fs_.table().get_row(sealed.row));
    Entry* entry = row.find(sealed.name);
    if (entry == nullptr || !entry->inode) continue;
    entry->inode->sealed = false;
    Batch batch;
    batch.put_row(sealed.row, row);
    CFFS_TRY_VOID(sums.erase(batch, ino));
    CFFS_TRY_VOID(fs_.table().write(batch));
    mended("inode " + number(ino.value) + " '" + sealed.name + "' had lost checksums: it has none any more");
  }
  return {};
}

// The table is there: the next one is made from it.
Status Repair::drop_damaged_catalogue() {
  const auto catalogue = read_catalogue(fs_.objects(), {});
  if (catalogue && (!*catalogue || (*catalogue)->whole)) return {};
  CFFS_TRY_VOID(fs_.objects().remove(kCatalogueObject));
  mended("object catalogue was damaged: removed, a mount or a scrub makes the next");
  return {};
}

Status Repair::keep_lost_objects() {
  CFFS_TRY(const auto names, Recovery::objects_beside(fs_.objects(), wanted_));
  for (const std::string& name : names) {
    CFFS_TRY(const std::string kept, Recovery::keep_aside(fs_.objects(), name));
    mended(name + " belonged to no row: it is kept as " + kept + " in the store");
  }
  return fs_.objects().sync_names();
}

}  // namespace cffs
