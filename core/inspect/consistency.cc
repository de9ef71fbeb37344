#include "core/inspect/consistency.h"

#include <algorithm>
#include <unordered_set>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/removals.h"
#include "core/inspect/row_names.h"
#include "core/reorganise/plan_object.h"
#include "core/table/table.h"

namespace cffs {
namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

}  // namespace

Result<std::vector<std::string>> ConsistencyCheck::run() {
  CFFS_TRY_VOID(fs_.sync());
  check_table();
  // Damage in a file of the table is named by now; a scan goes on behind it and tells of it at its end.
  const auto goes_on = [&](const Status& scanned) -> Status {
    if (scanned || scanned.error().kind != ErrorKind::corruption) return scanned;
    if (!rows_missing_) report(scanned.error().message());
    rows_missing_ = true;
    return {};
  };
  CFFS_TRY_VOID(goes_on(collect()));
  if (!rows_missing_) {
    check_count();
    check_directories();
    check_hard_links();
    check_accounts();
  }
  check_composites();
  check_blobs();
  CFFS_TRY_VOID(goes_on(check_data_rows()));
  CFFS_TRY_VOID(goes_on(check_other_rows()));
  CFFS_TRY_VOID(check_objects());
  check_plan();
  return std::move(found_);
}

void ConsistencyCheck::check_table() {
  for (const LogDamage& damage : fs_.table().dropped()) {
    if (damage.was_durable) report(damage.sentence());
  }
  const auto damaged = fs_.table().find_damaged_files();
  if (!damaged) return report(damaged.error().message());
  for (const std::string& sentence : *damaged) report(sentence);
  rows_missing_ = !damaged->empty();
}

Status ConsistencyCheck::collect() {
  NamespaceVisitor visitor;
  visitor.entries = [&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) note_entry(key, entry);
    return true;
  };
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    composites_[id] = row;
    return true;
  };
  visitor.moved_member = [](CompositeId, std::uint32_t, const MovedMember&) { return true; };
  visitor.damaged = [&](Key key, const Error& error) {
    report("row " + key_text(key) + ": " + error.message());
    return true;
  };
  return fs_.table().scan_namespace(visitor);
}

void ConsistencyCheck::note_entry(Key key, const Entry& entry) {
  if (!entry.name.empty()) parents_.insert(key.upper);
  if (!entry.inode) {
    ++linked_[entry.ino.value].found;
    return;
  }
  const std::string who = "inode " + number(entry.ino.value) + " '" + printable(entry.name) + "'";
  if (!inodes_.insert(entry.ino.value).second) report(who + " has two rows");
  if (entry.name.empty() && entry.ino != kRootInode) {
    linked_[entry.ino.value].counted = entry.inode->nlink;
    linked_[entry.ino.value].has_row = true;
  }
  if (entry.inode->is_directory() && !entry.name.empty()) {
    ++directories_[key.upper].found;
    directories_[entry.ino.value].parent = key.upper;
  }
  if (!entry.inode->is_directory() && !entry.name.empty() && entry.inode->nlink != 1) {
    report(who + " counts " + number(entry.inode->nlink) + " links, has 1");
  }
  note_inode(who, *entry.inode);
}

void ConsistencyCheck::note_inode(const std::string& who, const Inode& inode) {
  if (inode.is_directory()) {
    directories_[inode.ino.value].counted = inode.nlink;
    directories_[inode.ino.value].has_row = true;
  }
  switch (inode.home) {
    case Home::none:
      if (inode.is_regular() && inode.size > 0)
        report(who + " has " + number(inode.size) + " bytes and no home");
      break;
    case Home::inline_:
      inline_[inode.ino.value] = inode.size;
      break;
    case Home::composite:
      if (inode.extent.length != inode.size) report(who + ": size and extent differ");
      members_[inode.extent.composite].push_back({who, inode});
      break;
    case Home::blob:
      blobs_.push_back({who, inode});
      break;
  }
}

void ConsistencyCheck::check_count() {
  const auto counted = fs_.file_count();
  if (counted && *counted != inodes_.size()) {
    report("the store counts " + number(*counted) + " files, has " + number(inodes_.size()));
  }
}

void ConsistencyCheck::check_directories() {
  for (const std::uint64_t parent : parents_) {
    const auto it = directories_.find(parent);
    if (it == directories_.end() || !it->second.has_row)
      report("directory " + number(parent) + " has entries but no row");
  }
  for (const auto& [ino, links] : directories_) {
    if (links.has_row && links.counted != 2 + links.found) {
      report("directory " + number(ino) + " has " + number(links.counted) + " links, should have " +
             number(2 + links.found));
    }
  }
  check_circles();
}

// Upwards from each directory to one that is known to lead to the root; a directory without a row is reported as that.
void ConsistencyCheck::check_circles() {
  std::unordered_set<std::uint64_t> good{kRootInode.value};
  for (const auto& [ino, links] : directories_) {
    std::unordered_set<std::uint64_t> way;
    std::uint64_t at = ino;
    for (auto it = directories_.find(at);
         it != directories_.end() && it->second.has_row && !good.contains(at); it = directories_.find(at)) {
      if (!way.insert(at).second) {
        report("directory " + number(at) + " is below itself, and no path leads to it");
        break;
      }
      at = it->second.parent;
    }
    good.merge(way);
  }
}

void ConsistencyCheck::check_hard_links() {
  for (const auto& [ino, links] : linked_) {
    if (!links.has_row) {
      report("hard links to inode " + number(ino) + " lead nowhere");
    } else if (links.counted != links.found) {
      report("inode " + number(ino) + " counts " + number(links.counted) + " links, has " +
             number(links.found));
    }
  }
}

void ConsistencyCheck::check_accounts() {
  for (const auto& [id, row] : composites_) {
    std::uint64_t live = 0;
    const auto& members = members_[id];
    for (const File& file : members) live += file.inode.extent.length;
    if (members.size() != row.members || live != row.live_bytes) {
      report(CompositeStore::object_name(id) + " counts " + number(row.members) + " members, " +
             number(row.live_bytes) + " bytes; has " + number(members.size()) + ", " + number(live));
    }
  }
}

// In a store that is not dense_inline a chunk that is missing reads as zeros, as a hole does: nothing tells the two apart.
Status ConsistencyCheck::check_data_rows() {
  std::set<std::uint64_t> said;
  std::unordered_map<std::uint64_t, std::uint64_t> stored;  // bytes, by inode
  CFFS_TRY_VOID(fs_.table().scan_tag(KeyTag::file_data, [&](Key key, std::string_view value) {
    const std::uint64_t ino = key.number();
    const auto file = inline_.find(ino);
    const bool room = file != inline_.end() && key.lower <= file->second / kChunkBytes;
    const bool fits =
        room && value.size() <= kChunkBytes && key.lower * kChunkBytes + value.size() <= file->second;
    stored[ino] += value.size();
    if (fits || (rows_missing_ && file == inline_.end()) || !said.insert(ino).second) return true;
    report("data rows of inode " + number(ino) +
           (file == inline_.end() ? " belong to nobody" : " reach beyond its end"));
    return true;
  }));
  if (!fs_.store_format().dense_inline) return {};
  for (const auto& [ino, size] : inline_) {
    if (stored[ino] < size) {
      report("inode " + number(ino) + ": " + number(stored[ino]) + " of its " + number(size) +
             " bytes are in the table");
    }
  }
  return {};
}

Status ConsistencyCheck::check_other_rows() {
  return fs_.table().scan(Key::tagged(KeyTag::staged_directory, 0, 0), {~std::uint64_t{0}, ~std::uint64_t{0}},
                          [&](Key key, std::string_view value) {
                            if (key.tag() == KeyTag::file_data) return true;
                            if (const auto removal = decode_pending_removal(key)) {
                              pending_.insert(object_name(*removal));
                            } else if (const Status known = check_row(key, value); !known) {
                              report("row " + key_text(key) + ": " + known.error().message());
                            }
                            return true;
                          });
}

Status ConsistencyCheck::check_objects() {
  CFFS_TRY(const auto names, fs_.objects().list(""));
  const std::set<std::string> present(names.begin(), names.end());
  std::set<std::string> wanted;
  for (const File& file : blobs_) wanted.insert(BlobStore::object_name(file.inode.ino));
  for (const auto& [id, row] : composites_) wanted.insert(CompositeStore::object_name(id));
  for (const std::string& name : wanted) {
    if (!present.contains(name)) report("object " + name + " is missing");
  }
  for (const std::string& name : names) {
    const bool data = name.starts_with("blobs/") || name.starts_with("composites/");
    if (data && !rows_missing_ && !wanted.contains(name) && !pending_.contains(name))
      report("object " + name + " belongs to nobody");
  }
  return {};
}

void ConsistencyCheck::check_plan() {
  if (const Status copy = check_format_copy(fs_.objects()); !copy) report(copy.error().message());
  if (const auto plan = read_plan_object(fs_.objects()); !plan) report(plan.error().message());
}

}  // namespace cffs
