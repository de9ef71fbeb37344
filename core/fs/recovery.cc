#include "core/fs/recovery.h"

#include "core/composite/composite_store.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

const Key kOpenKey = system_key(SystemField::open_boot);

}  // namespace

void Recovery::mark_closed(Batch& batch) { batch.erase(kOpenKey); }

Status Recovery::mark_open() {
  Batch batch;
  batch.put(kOpenKey, boot_id_);
  CFFS_TRY_VOID(table_.write(batch));
  return table_.sync();
}

Status Recovery::begin(bool looks_only) {
  CFFS_TRY(const auto open_since, table_.get(kOpenKey));
  if (open_since && *open_since == boot_id_) return {};
  if (open_since) CFFS_TRY_VOID(after_power_cut());
  return looks_only ? Status() : mark_open();
}

// A file shows what it had before it grew, where the growth did not reach the medium.
Status Recovery::compare_with_blob(Entry& entry, bool& differs, std::set<std::string>& wanted) {
  if (!entry.inode || entry.inode->home != Home::blob) return {};
  Inode& inode = *entry.inode;
  std::uint64_t size = 0;
  if (const auto object = blobs_.open(entry.ino)) {
    CFFS_TRY(const ObjectInfo info, (*object)->info());
    size = info.size;
    wanted.insert(BlobStore::object_name(entry.ino));
  } else if (object.error().errno_value == ENOENT) {
    inode.home = Home::none;
    differs = true;
  } else {
    return fail(object.error());
  }
  if (size < inode.size) {
    inode.size = size;
    differs = true;
  }
  return {};
}

// After a power cut a row may be durable and its blob not, or less of it: writes to different objects reach the medium in
// any order. Every blob's size is therefore held against its object, and objects that no row names are removed. One scan of
// the table; composites are synced before their rows and need none.
Status Recovery::after_power_cut() {
  if (log_) log_("the store was not closed and the machine was restarted since: checking all rows");
  std::set<std::string> wanted;
  std::vector<std::pair<Key, Row>> changed;
  Status problem;
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow&) {
    wanted.insert(CompositeStore::object_name(id));
    return true;
  };
  visitor.entries = [&](Key key, Row& row) {
    bool differs = false;
    for (Entry& entry : row.entries) {
      if (problem) problem = compare_with_blob(entry, differs, wanted);
    }
    if (differs) changed.emplace_back(key, std::move(row));
    return problem.has_value();
  };
  // Rot that its reader will report. A composite's row is not decoded for its name alone, but keeps its object.
  visitor.damaged = [&](Key key, const Error&) {
    wanted.insert(CompositeStore::object_name(CompositeId{key.upper}));
    return true;
  };
  CFFS_TRY_VOID(table_.scan_namespace(visitor));
  CFFS_TRY_VOID(problem);
  Batch batch;
  for (const auto& [key, row] : changed) batch.put_row(key, row);
  CFFS_TRY_VOID(table_.write(batch));
  CFFS_TRY_VOID(table_.sync());
  for (const char* folder : {"blobs", "composites"}) {
    CFFS_TRY(const auto names, store_.list(folder));
    for (const std::string& name : names) {
      if (!wanted.contains(name)) CFFS_TRY_VOID(store_.remove(name));
    }
  }
  return {};
}

}  // namespace cffs
