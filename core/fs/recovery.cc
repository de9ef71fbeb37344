#include "core/fs/recovery.h"

#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/fs/file_count.h"
#include "core/fs/moment.h"
#include "core/fs/removals.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

const Key kOpenKey = system_key(SystemField::open_boot);

}  // namespace

void Recovery::mark_closed(Batch& batch) { batch.erase(kOpenKey); }

void Recovery::mark_open_at_first_change() {
  Batch batch;
  batch.put(kOpenKey, boot_id_);
  batch.put(Key::namespace_end(), "");  // stores of older programs have none
  FileCount::erase(batch);
  table_.before_first_change(std::move(batch));
}

Status Recovery::begin(bool looks_only, bool followed, bool keeps_all) {
  keeps_all_ = keeps_all;
  for (const LogDamage& damage : table_.dropped()) {
    if (log_) log_(damage.sentence());
  }
  CFFS_TRY(const auto open_since, table_.get(kOpenKey));
  const bool unclean = open_since || !table_.dropped().empty();
  if (unclean) {
    if (log_) log_("the store was not closed: checking all rows");
    // Rows that become durable from now on may name data that only the kernel has.
    if (!looks_only) CFFS_TRY_VOID(store_.sync_everything());
    CFFS_TRY_VOID(after_unclean_end(followed));
  }
  if (looks_only) return {};
  mark_open_at_first_change();
  return unclean ? table_.begin_changes() : Status();
}

// A file shows what it had before it grew, where the growth did not reach the medium.
Status Recovery::compare_with_blob(Entry& entry, bool& differs, std::set<std::string>& wanted) {
  if (!entry.inode || entry.inode->home != Home::blob) return {};
  Inode& inode = *entry.inode;
  if (inode.sealed) sealed_.insert(entry.ino);  // whatever its object is: who has it again has its checksums
  std::uint64_t size = 0;
  const auto look = [&]() -> Result<ObjectInfo> {
    CFFS_TRY(const auto object, blobs_.open(entry.ino));
    return object->info();
  };
  auto info = look();
  if (!info && info.error().errno_value != ENOENT && !info.error().is_shortage()) info = look();
  if (info) {
    size = info->size;
    wanted.insert(BlobStore::object_name(entry.ino));
  } else if (info.error().errno_value == ENOENT) {
    if (inode.sealed) return note_damage(entry, "is missing");
    inode.home = Home::none;
    differs = true;
  } else if (info.error().is_shortage()) {
    return fail(info.error());
  } else {  // one file's readers are told; the others have a store
    wanted.insert(BlobStore::object_name(entry.ino));
    if (log_)
      log_(BlobStore::object_name(entry.ino) + " (" + entry.name +
           ") cannot be opened: " + info.error().message());
    return {};
  }
  if (size < inode.size && inode.sealed) return note_damage(entry, "is too short");
  if (size < inode.size) {
    inode.size = size;
    differs = true;
  }
  return {};
}

// What was sealed had been durable: no power cut took it. Its readers are told, and its row keeps what it knows.
Status Recovery::note_damage(const Entry& entry, const char* what) const {
  if (log_)
    log_(BlobStore::object_name(entry.ino) + " (" + entry.name + ") " + what +
         " although it was durable: it is damaged");
  return {};
}

// Sums that nobody's row speaks of are what a sealing left that was cut short. One short scan for each blob that has some.
Status Recovery::drop_sums_of_unsealed() {
  const BlobSums sums(table_);
  const Key last = Key::tagged(KeyTag::block_sums, kInodeLimit - 1, ~std::uint64_t{0});
  for (Key from = Key::tagged(KeyTag::block_sums, 0, 0);;) {
    std::optional<Key> met;
    CFFS_TRY_VOID(table_.scan(from, last, [&](Key key, std::string_view) {
      met = key;
      return false;
    }));
    if (!met) return {};
    const InodeId ino{met->number()};
    if (!sealed_.contains(ino)) {
      Batch batch;
      CFFS_TRY_VOID(sums.erase(batch, ino));
      CFFS_TRY_VOID(table_.write(batch));
    }
    if (ino.value + 1 >= kInodeLimit) return {};
    from = Key::tagged(KeyTag::block_sums, ino.value + 1, 0);
  }
}

// A row may be durable and its blob not, or less of it: writes to different objects reach the medium in any order.
// Every blob's size is therefore held against its object. One scan of the table; composites are synced before their rows and
// need no look.
Status Recovery::after_unclean_end(bool followed) {
  CFFS_TRY(Found found, compare_rows_with_objects());
  Batch batch;
  for (const auto& [key, row] : found.shortened) batch.put_row(key, row);
  CFFS_TRY_VOID(count_end(batch));
  CFFS_TRY_VOID(table_.write(batch));
  CFFS_TRY_VOID(drop_removals_of(found));
  CFFS_TRY_VOID(drop_sums_of_unsealed());
  CFFS_TRY_VOID(table_.sync());
  if (followed) CFFS_TRY_VOID(want_what_waits(found.wanted));
  return clear_away(found.wanted);
}

Status Recovery::want_what_waits(std::set<std::string>& wanted) const {
  return table_.scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && removal->is_object()) wanted.insert(object_name(*removal));
    return true;
  });
}

// Of a blob that was changed in place, the row may be behind from now on, and say the same as before of other bytes: whoever
// compares rows of two moments, as a backup does, must know.
Status Recovery::count_end(Batch& batch) const {
  constexpr SystemField kField = SystemField::unclean_ends;
  std::uint64_t ends = 0;
  CFFS_TRY(const auto row, table_.get(system_key(kField)));
  if (row) {
    if (const auto before = decode_system_number(kField, *row)) ends = *before;
  }
  batch.put(system_key(kField), encode_system_number(ends + 1));
  return {};
}

Result<Recovery::Found> Recovery::compare_rows_with_objects() {
  Found found;
  Status problem;
  CFFS_TRY(const std::set<InodeId> nameless, this->nameless());
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow&) {
    found.wanted.insert(CompositeStore::object_name(id));
    return true;
  };
  visitor.entries = [&](Key key, Row& row) {
    bool differs = false;
    for (Entry& entry : row.entries) {
      if (nameless.contains(entry.ino)) found.named.insert(entry.ino);
      // Where rows are missing, a composite's own may be.
      if (keeps_all_ && entry.inode && entry.inode->home == Home::composite)
        found.wanted.insert(CompositeStore::object_name(entry.inode->extent.composite));
      if (problem) problem = compare_with_blob(entry, differs, found.wanted);
    }
    if (differs) found.shortened.emplace_back(key, std::move(row));
    return problem.has_value();
  };
  // Rot that its reader will report. A composite's row is not decoded for its name alone, but keeps its object.
  visitor.damaged = [&](Key key, const Error&) {
    found.wanted.insert(CompositeStore::object_name(CompositeId{key.upper}));
    return true;
  };
  CFFS_TRY_VOID(table_.scan_namespace(visitor));
  CFFS_TRY_VOID(problem);
  return found;
}

Result<std::set<InodeId>> Recovery::nameless() const {
  std::set<InodeId> found;
  CFFS_TRY_VOID(table_.scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && !removal->is_object()) found.insert(InodeId{removal->number});
    return true;
  }));
  return found;
}

// What a row names is not removed, whatever else the table says.
Status Recovery::drop_removals_of(const Found& found) {
  Batch batch;
  CFFS_TRY_VOID(table_.scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (!removal) return true;
    const bool is_object = removal->is_object();
    const bool named = is_object ? found.wanted.contains(object_name(*removal))
                                 : found.named.contains(InodeId{removal->number});
    if (named) {
      const std::string what = is_object ? object_name(*removal) : "inode " + std::to_string(removal->number);
      if (log_) log_(what + " awaits its removal, and a row names it: it stays");
      batch.erase(key);
    }
    return true;
  }));
  return table_.write(batch);
}

Status Recovery::clear_away(const std::set<std::string>& wanted) {
  const bool keeps = keeps_all_ || !table_.dropped().empty();
  CFFS_TRY(const auto names, objects_beside(store_, wanted));
  for (const std::string& name : names) {
    if (!keeps) {
      const Status removed = store_.remove(name);
      if (!removed && removed.error().is_shortage()) return removed;
      // It takes room, and nothing else.
      if (!removed && log_)
        log_(name + " belongs to no row, and cannot be removed: " + removed.error().message());
      continue;
    }
    CFFS_TRY(const std::string kept, keep_aside(store_, name));
    if (log_) log_(name + " belongs to no row that could be read; it is kept as " + kept);
  }
  return {};
}

Result<std::vector<std::string>> Recovery::objects_beside(ObjectStore& store,
                                                          const std::set<std::string>& wanted) {
  std::vector<std::string> beside;
  for (const char* folder : {"blobs", "composites", MomentHold::kFolder}) {
    CFFS_TRY(const auto names, store.list(folder));
    for (const std::string& name : names) {
      if (!wanted.contains(name)) beside.push_back(name);
    }
  }
  return beside;
}

Result<std::string> Recovery::keep_aside(ObjectStore& store, const std::string& name) {
  std::string kept(kLostAndFound);
  kept += '/';
  kept += name;
  CFFS_TRY_VOID(store.rename(name, kept));
  return kept;
}

}  // namespace cffs
