// Rows that had been replaced when the table was whole, and show again since it is not: the record of the file tells.
#include <algorithm>

#include "core/composite/composite_store.h"
#include "core/fs/recovery.h"
#include "core/repair/inline_data.h"
#include "core/repair/lost_members.h"
#include "core/table/table.h"

namespace cffs {

// Of the same version is the same content: a row elsewhere may be right, where the record is what a compaction or a change has left.
void LostMembers::note_newer(Found found) {
  const Inode& inode = found.inode;
  const auto row = rows_.find(inode.ino.value);
  if (row == rows_.end() || found.is_guest || inode.version < row->second.version) return;
  const bool is_its_own =
      inode.extent.composite == row->second.composite && inode.extent.slot == row->second.slot;
  if (!is_its_own) newer_[inode.ino].push_back(std::move(found));
}

Status LostMembers::replace_older_rows() {
  if (newer_.empty()) return {};
  std::vector<std::tuple<Key, std::string, InodeId>> rows;
  CFFS_TRY_VOID(fs_.table().scan_entries([&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) {
      if (entry.inode && newer_.contains(entry.ino)) rows.emplace_back(key, entry.name, entry.ino);
    }
    return true;
  }));
  for (const auto& [key, name, ino] : rows) {
    std::vector<Found>& found = newer_[ino];
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.age() > b.age(); });
    CFFS_TRY_VOID(replace_row(key, name, found));
  }
  return {};
}

Status LostMembers::replace_row(Key key, const std::string& name, std::vector<Found>& found) {
  CFFS_TRY(Row row, fs_.table().get_row(key));
  Entry* const entry = row.find(name);
  if (entry == nullptr || !entry->inode || entry->inode->left_in_row) return {};
  const Inode now = *entry->inode;
  const std::string object = CompositeStore::object_name(now.extent.composite);
  bool leads_to_data = true;
  if (now.home == Home::composite) {
    CFFS_TRY(leads_to_data, is_whole({object, {}, now, {}}));
  } else if (now.home == Home::inline_) {
    CFFS_TRY(leads_to_data, has_inline_data(fs_.table(), now));
  }
  for (Found& each : found) {
    const bool is_newer = each.inode.version > now.version;
    if (!is_newer && leads_to_data) continue;
    if (each.inode.extent.composite >= CompositeId{fs_.next_inode().value}) continue;
    CFFS_TRY(const bool whole, is_whole(each));
    if (!whole) continue;
    if (each.object.starts_with(Recovery::kLostAndFound)) CFFS_TRY_VOID(take_back_object(each));
    Inode next = each.inode.ctime_ns >= now.ctime_ns ? each.inode : now;
    next.home = Home::composite;
    next.size = each.inode.size;
    next.version = each.inode.version;
    next.extent = each.inode.extent;
    next.allocated = 0;
    next.sealed = false;
    next.nlink = now.nlink;
    const EntryName at{InodeId{key.upper}, name};
    Batch batch;
    if (!name.empty()) tell_place(batch, each, at, next);
    entry->inode = next;
    batch.put_row(key, row);
    CFFS_TRY_VOID(fs_.table().write(batch));
    --missing_[next.extent.composite];
    back_.push_back("inode " + std::to_string(now.ino.value) + " '" + (name.empty() ? each.at.name : name) +
                    "' had an older row: it has the data of its record again");
    return {};
  }
  return {};
}

}  // namespace cffs
