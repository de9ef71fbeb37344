#include "core/backup/former_backup.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/kept_bytes.h"
#include "core/fs/spare_objects.h"
#include "core/fs/store_format.h"
#include "core/table/catalogue.h"
#include "core/table/checkpoint.h"
#include "core/table/value_log.h"

namespace cffs {
namespace {

constexpr const char* kParts[] = {"superblock",
                                  "superblock.copy",
                                  "lock",
                                  "table",
                                  "composites",
                                  "blobs",
                                  kValueFolder,
                                  "plan",
                                  "accesses",
                                  "reserve",
                                  SpareObjects::kFolder,
                                  kBackupObject,
                                  "held",
                                  "lost+found",
                                  "followers",
                                  kCheckpointObject,
                                  kKeptFolder,
                                  kCatalogueObject,
                                  kUnfinishedCatalogue};

tl::unexpected<Error> refused(const std::string& where, const std::string& what) {
  std::string said = where;
  said += ' ';
  said += what;
  return fail(Error::usage(std::move(said)));
}

}  // namespace

Result<std::optional<std::string>> stranger_in(ObjectStore& store) {
  CFFS_TRY(const auto names, store.list(""));
  for (const std::string& name : names) {
    std::string top = name.substr(0, name.find('/'));
    if (std::find(std::begin(kParts), std::end(kParts), top) == std::end(kParts)) return top;
  }
  return std::optional<std::string>();
}

Result<BackupRecord> FormerBackup::check(ObjectStore& store, const std::string& where,
                                         const std::string& uuid) {
  const auto record = read_backup_record(store);
  if (!record && record.error().is_shortage()) return fail(record.error());
  if (!record) return refused(where, ": " + record.error().message() + "; remove it, or name another place");
  if (!*record) {
    return refused(where,
                   "is there and is no backup: name a place that does not exist, or an empty directory");
  }
  if ((*record)->store != uuid) {
    return refused(
        where, "is a backup of another store (" + (*record)->store + "): name another place for this one");
  }
  const auto table = table_fingerprint(store);
  if (!table && table.error().is_shortage()) return fail(table.error());
  if (!table && table.error().errno_value != ENOENT)
    return refused(where,
                   "cannot be read: " + table.error().message() + "; remove it, or name another place");
  if (!table || *table != (*record)->table) {
    return refused(where,
                   "was written to since it was made, as by a mount or a repair, and would lose that: name "
                   "another place, or remove it");
  }
  // What is in it goes with it.
  CFFS_TRY(const auto stranger, stranger_in(store));
  if (stranger)
    return refused(where, "holds " + *stranger + ", which is no part of a store: move that elsewhere");
  return **record;
}

FormerBackup::FormerBackup(ObjectStore& store, BackupRecord record)
    : store_(store),
      record_(std::move(record)),
      damaged_(record_.damaged.begin(), record_.damaged.end()),
      looked_at_(store) {}

Result<std::unique_ptr<FormerBackup>> FormerBackup::open(ObjectStore& store, BackupRecord record) {
  std::unique_ptr<FormerBackup> former(new FormerBackup(store, std::move(record)));
  CFFS_TRY_VOID(former->load());
  return former;
}

std::uint64_t FormerBackup::member_mark(const Inode& inode) {
  const Extent& e = inode.extent;
  std::string bytes;
  ByteWriter w(bytes);
  for (const std::uint64_t part :
       {inode.ino.value, e.composite.value, std::uint64_t{e.slot}, e.offset, e.length, e.checksum})
    w.u64(part);
  return checksum(bytes);
}

Status FormerBackup::load() {
  CFFS_TRY(const StoreFormat format, read_format(looked_at_));
  TableOptions options;
  options.in_memory = true;
  options.values_apart = format.values_apart;
  CFFS_TRY(table_, Table::open(looked_at_, options));
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    composites_[id.value] = row.size;
    return true;
  };
  visitor.entries = [&](Key, Row& row) {
    for (const Entry& entry : row.entries) {
      if (!entry.inode) continue;
      const Inode& inode = *entry.inode;
      if (inode.home == Home::composite) members_.push_back(member_mark(inode));
      if (inode.home == Home::blob) {
        blobs_[inode.ino] = {inode.version, inode.size, inode.mtime_ns, inode.sealed};
      }
    }
    return true;
  };
  visitor.damaged = pass_over;
  CFFS_TRY_VOID(table_->scan_namespace(visitor));
  std::sort(members_.begin(), members_.end());
  return {};
}

bool FormerBackup::has_member(const Inode& inode) const {
  return std::binary_search(members_.begin(), members_.end(), member_mark(inode));
}

bool FormerBackup::has_object(const std::string& name, std::uint64_t size) const {
  if (damaged_.contains(name)) return false;
  const auto object = store_.open(name);
  const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
  return info && info->size == size;
}

// Packed or not: of one number and size all have the same bytes.
bool FormerBackup::has_composite(CompositeId id, std::uint64_t size) const {
  const auto it = composites_.find(id.value);
  const std::string name = CompositeStore::object_name(id);
  if (it == composites_.end() || it->second != size || damaged_.contains(name)) return false;
  auto object = store_.open(name);
  if (object) object = CompositeStore::plain(std::move(*object), name);
  const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
  return info && info->size == size;
}

Result<bool> FormerBackup::same_sums(InodeId ino, const TableSnapshot& rows) const {
  const Key first = Key::tagged(KeyTag::block_sums, ino.value, 0);
  const Key last = Key::tagged(KeyTag::block_sums, ino.value, ~std::uint64_t{0});
  std::uint64_t mine = 0, theirs = 0;
  const auto add = [](std::uint64_t& sum, Key key, std::string_view value) {
    std::string bytes;
    ByteWriter w(bytes);
    w.u64(sum);
    w.u64(key.lower);
    w.u64(checksum(value));
    sum = checksum(bytes);
    return true;
  };
  CFFS_TRY_VOID(
      rows.scan(first, last, [&](Key key, std::string_view value) { return add(mine, key, value); }));
  CFFS_TRY_VOID(
      table_->scan(first, last, [&](Key key, std::string_view value) { return add(theirs, key, value); }));
  return mine == theirs;
}

// A row tells of bytes that are changed in place only while nobody ends without closing the store: then it may be behind. Checksums
// tell always, since a seal is broken durably before the first byte changes.
Result<bool> FormerBackup::has_blob(const Inode& inode, const TableSnapshot& rows,
                                    std::uint64_t unclean_ends) const {
  const auto it = blobs_.find(inode.ino);
  if (it == blobs_.end()) return false;
  const Blob& had = it->second;
  if (had.version != inode.version || had.size != inode.size) return false;
  if (had.sealed && inode.sealed) {
    const auto same = same_sums(inode.ino, rows);
    if (!same || !*same) return false;
  } else if (had.mtime_ns != inode.mtime_ns || unclean_ends != record_.unclean_ends) {
    return false;
  }
  return has_object(BlobStore::object_name(inode.ino), inode.size);
}

}  // namespace cffs
