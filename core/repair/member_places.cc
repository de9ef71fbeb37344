#include "core/repair/member_places.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/printable.h"
#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/table/files_of_records.h"
#include "core/table/table.h"

namespace cffs {
namespace {

std::string record_of(const SharingRepair::Record& record) {
  return "slot " + std::to_string(record.second) + " of " + CompositeStore::object_name(record.first);
}

}  // namespace

Result<MemberPlaces::Records> MemberPlaces::run(CompositeId id, const CompositeRow& row) {
  CFFS_TRY(rows_, files_of_records(fs_.table(), id));
  CFFS_TRY_VOID(drop_nobodys(id));
  Records records;
  Status done;
  const Status scanned = fs_.composites().scan(id, row.size, [&](const RecordMeta& record, std::uint64_t) {
    records.bytes += record.data_length;
    ++records.slots;
    for (const SharingRepair::Member& member : files_of(id, record.slot)) {
      if (done) done = mend(record, member);
    }
  });
  CFFS_TRY_VOID(done);
  const auto object =
      scanned ? fs_.composites().open(id) : Result<std::shared_ptr<Object>>(fail(scanned.error()));
  const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
  if (!info && info.error().is_shortage()) return fail(info.error());  // nothing is known of it
  records.whole = info && info->size >= row.size && is_within(id, records.slots);
  return records;
}

// Whether every member's slot is one of the first so many.
bool MemberPlaces::is_within(CompositeId id, std::uint64_t slots) const {
  const SharingRepair::Record end{CompositeId{id.value + 1}, 0};
  const auto behind = std::lower_bound(
      members_.begin(), members_.end(), end,
      [](const SharingRepair::Member& m, const SharingRepair::Record& record) { return m.record < record; });
  if (behind == members_.begin()) return true;
  const SharingRepair::Record& last = std::prev(behind)->record;
  return last.first != id || last.second < slots;
}

MemberPlaces::Members MemberPlaces::files_of(CompositeId id, std::uint32_t slot) const {
  const SharingRepair::Record wanted{id, slot};
  const auto begin = std::lower_bound(
      members_.begin(), members_.end(), wanted,
      [](const SharingRepair::Member& m, const SharingRepair::Record& record) { return m.record < record; });
  auto end = begin;
  while (end != members_.end() && end->record == wanted) ++end;
  return {begin, end};
}

// No file's row names the record: nobody looks for one by what the row says. Of those that several share, the repair of sharing drops
// them.
Status MemberPlaces::drop_nobodys(CompositeId id) {
  Batch batch;
  std::erase_if(rows_, [&](const auto& row) {
    const auto& [slot, files] = row;
    if (files.is_shared() || !files_of(id, slot).empty()) return false;
    batch.erase(Key::member_files(id, slot));
    mended_.push_back(record_of({id, slot}) + " is nobody's, and a row said where its file is: removed");
    return true;
  });
  return fs_.table().write(batch);
}

Status MemberPlaces::drop_stray(const SharingRepair::Record& record) {
  if (!files_of(record.first, record.second).empty()) return {};
  Batch batch;
  batch.erase(Key::member_files(record.first, record.second));
  mended_.push_back(record_of(record) + " is not there, and a row said where its file is: removed");
  return fs_.table().write(batch);
}

Status MemberPlaces::mend(const RecordMeta& record, const SharingRepair::Member& member) {
  const EntryName& at = member.file.at;
  if (at.name.empty()) return {};  // found by its number
  const bool is_where_recorded = record.ino == member.file.ino && at == EntryName{record.parent, record.name};
  const auto row = rows_.find(record.slot);
  if (row == rows_.end()) {
    const bool is_wanted = record.ino == member.file.ino && (!is_where_recorded || member.extent.moved);
    return is_wanted ? put(member, {{{{}, at}}}, true) : Status();
  }
  if (!row->second.is_shared()) {
    if (row->second.files.front().at == at) return {};
    return put(member, {{{{}, at}}}, true);
  }
  for (MemberFile& file : row->second.files) {
    if (file.ino != member.file.ino || !file.at.name.empty() || is_where_recorded) continue;
    file.at = at;
    return put(member, row->second, false);
  }
  return {};
}

// `renamed`: the file's own row says so from now on, that the record's row goes with it.
Status MemberPlaces::put(const SharingRepair::Member& member, const MemberFiles& row, bool renamed) {
  const EntryName& at = member.file.at;
  Batch batch;
  batch.put(Key::member_files(member.record.first, member.record.second), encode_member_files(row));
  if (renamed && !member.extent.moved) {
    const Key key = fs_.rehousing().entry_key(at);
    CFFS_TRY(Row entries, fs_.table().get_row(key));
    Entry* const entry = entries.find(at.name);
    if (entry == nullptr || !entry->inode || entry->ino != member.file.ino) return {};
    entry->inode->extent.moved = true;
    batch.put_row(key, entries);
  }
  CFFS_TRY_VOID(fs_.table().write(batch));
  rows_[member.record.second] = row;
  mended_.push_back("inode " + std::to_string(member.file.ino.value) + " '" + printable(at.name) +
                    "' was renamed, and no row of " + record_of(member.record) + " said where to: one does");
  return {};
}

}  // namespace cffs
