#include "core/fs/unfinished_format.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/bytes.h"

namespace cffs {
namespace {

constexpr std::string_view kSingle[] = {"lock",
                                        "followers",
                                        "superblock.copy",
                                        "reserve",
                                        "plan",
                                        kUnfinishedSuperblock,
                                        "catalogue",
                                        "checkpoint",
                                        "plan.unfinished",
                                        "catalogue.unfinished",
                                        "repair.unfinished",
                                        "table.unmerged",
                                        "backup",
                                        "copying"};
constexpr std::string_view kWithObjectsBelow[] = {"table", "values",   "composites", "blobs",
                                                  "spare", "accesses", "held",       "kept"};
constexpr std::string_view kOwnerText = "pid ";  // this_process()

std::string_view top_of(std::string_view name) { return name.substr(0, name.find('/')); }

template <std::size_t N>
bool has(const std::string_view (&names)[N], std::string_view wanted) {
  return std::find(std::begin(names), std::end(names), wanted) != std::end(names);
}

// A folder with the name of a single object is somebody else's.
bool is_store_object(std::string_view name) {
  const std::string_view top = top_of(name);
  return has(kSingle, name) || (top != name && has(kWithObjectsBelow, top));
}

// Those of the backend, which it makes when a store is locked: before there can be a mark.
bool is_lock(std::string_view name) { return name == "lock" || name == "followers"; }

// A lock's text, or nothing: what has another is no lock of ours, and would be written over.
Result<bool> is_our_lock(ObjectStore& store, const std::string& name) {
  CFFS_TRY(const auto object, store.open(name));
  CFFS_TRY(const ObjectInfo info, object->info());
  if (name != "lock" || info.size == 0) return info.size == 0;
  std::string text(kOwnerText.size(), '\0');
  CFFS_TRY(const std::size_t n, object->read_at(0, as_writable_bytes(text)));
  return n == text.size() && text == kOwnerText;
}

tl::unexpected<Error> not_empty(const ObjectStore& store, std::string_view name) {
  const std::string where = store.description();
  return fail(Error{
      ErrorKind::usage, ENOTEMPTY,
      where + " is not empty (" + std::string(name) + "); give " +
          (where.starts_with("rados:") ? "another name, or make a store of what is there by cffs salvage"
                                       : "an empty directory for the store")});
}

}  // namespace

bool is_store_name(std::string_view top_name) {
  return has(kSingle, top_name) || has(kWithObjectsBelow, top_name);
}

Status check_formattable(ObjectStore& store) {
  CFFS_TRY(const bool is_store, store.exists("superblock"));
  if (is_store)
    return fail(Error{ErrorKind::usage, EEXIST,
                      store.description() + " is a cffs store already; it was left as it is"});
  CFFS_TRY(const bool is_begun, store.exists(kUnfinishedSuperblock));
  CFFS_TRY(const auto names, store.list(""));
  for (const std::string& name : names) {
    const std::string_view top = top_of(name);
    if (top == "lost+found") continue;  // a file system's own
    if (!is_store_object(name) || (!is_begun && !is_lock(name))) return not_empty(store, top);
    if (is_begun || !is_lock(name)) continue;
    CFFS_TRY(const bool is_ours, is_our_lock(store, name));
    if (!is_ours) return not_empty(store, name);
  }
  return {};
}

Status begin_format(ObjectStore& store) {
  CFFS_TRY_VOID(check_formattable(store));
  CFFS_TRY(const auto names, store.list(""));
  for (const std::string& name : names) {
    const std::string_view top = top_of(name);
    const bool stays = top == "lost+found" || top == kUnfinishedSuperblock || is_lock(top);
    if (!stays) CFFS_TRY_VOID(store.remove(name));
  }
  CFFS_TRY_VOID(store.sync_names());
  CFFS_TRY(const auto mark, store.create(kUnfinishedSuperblock, ObjectStore::Create::truncate));
  return mark->sync();
}

Status set_superblock_aside(ObjectStore& store) {
  CFFS_TRY_VOID(store.rename("superblock", kUnfinishedSuperblock));
  return store.sync_names();
}

Status put_superblock_back(ObjectStore& store) {
  CFFS_TRY_VOID(store.rename(kUnfinishedSuperblock, "superblock"));
  return store.sync_names();
}

}  // namespace cffs
