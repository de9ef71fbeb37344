// What a repair does about composites: their accounts, whose their records are, and the places in them that files' rows name.
#include <algorithm>

#include "core/base/printable.h"
#include "core/base/within_memory.h"
#include "core/composite/composite_store.h"
#include "core/fs/recovery.h"
#include "core/fs/rehousing.h"
#include "core/repair/evacuation.h"
#include "core/repair/member_places.h"
#include "core/repair/repair.h"
#include "core/table/row_marks.h"
#include "core/table/table.h"

namespace cffs {

Status Repair::mend_accounts() {
  for (const auto& [id, account] : met_->accounts) {
    if (!met_->composites.contains(id)) CFFS_TRY_VOID(rebuild_account(id, account));
  }
  MemberPlaces places(fs_, met_->sharing.members(), mended_);
  for (const auto& [id, row] : met_->composites) {
    CFFS_TRY_VOID(mend_index(id));
    CFFS_TRY(const MemberPlaces::Records records, places.run(id, row));
    if (!records.whole) broken_.insert(id);
    const auto found = met_->accounts.find(id);
    CFFS_TRY_VOID(
        mend_account(id, found == met_->accounts.end() ? RowSurvey::Account() : found->second, records));
  }
  for (const SharingRepair::Record& record : met_->sharing.strays()) CFFS_TRY_VOID(places.drop_stray(record));
  return {};
}

// What cannot be opened the check names.
Status Repair::mend_index(CompositeId id) {
  const auto object = fs_.composites().open(id);
  if (!object) return object.error().is_shortage() ? Status(fail(object.error())) : Status();
  const Status good = CompositeStore::check_index(**object);
  if (good) return {};
  if (good.error().is_shortage()) return good;
  const auto packed = fs_.rehousing().pack(id, fs_.compression());
  if (packed && *packed) mended(CompositeStore::object_name(id) + " had a damaged index of its frames");
  return {};
}

// What is counted as freed may be less than the records have that is no file's: a killed daemon leaves such. More it is never.
Status Repair::mend_account(CompositeId id, const RowSurvey::Account& account,
                            const MemberPlaces::Records& records) {
  CompositeRow row = met_->composites[id];
  const std::string name = CompositeStore::object_name(id);
  Batch batch;
  const bool agrees = row.members == account.members && row.live_bytes == account.live_bytes;
  if (account.members == 0) {
    if (agrees) return {};
    batch.erase(Key::null_name(id));
    met_->wanted.erase(name);
    mended(name + " has no members any more: no row");
    return fs_.table().write(batch);
  }
  if (!agrees) {
    const std::uint64_t data = row.live_bytes + row.freed_bytes;
    mended(name + " counted " + std::to_string(row.members) + " members, " + std::to_string(row.live_bytes) +
           " bytes: " + std::to_string(account.members) + ", " + std::to_string(account.live_bytes));
    row.members = account.members;
    row.live_bytes = account.live_bytes;
    row.freed_bytes = data > row.live_bytes ? data - row.live_bytes : 0;
  }
  const bool can_tell = records.whole && records.bytes >= row.live_bytes;
  const bool too_many = can_tell && row.freed_bytes > records.bytes - row.live_bytes;
  if (too_many) {
    const std::uint64_t freed = records.bytes - row.live_bytes;
    mended(name + " counted " + std::to_string(row.freed_bytes) +
           " bytes as freed: " + std::to_string(freed));
    row.freed_bytes = freed;
  }
  const bool miscounts = records.whole && row.slots != records.slots;
  if (miscounts) {
    mended(name + " counted " + std::to_string(row.slots) + " records: " + std::to_string(records.slots));
    row.slots = records.slots;
  }
  if (agrees && !too_many && !miscounts) return {};
  batch.put(Key::null_name(id), encode_composite_row(row));
  return fs_.table().write(batch);
}

// Size and records are the object's own word.
Status Repair::rebuild_account(CompositeId id, const RowSurvey::Account& account) {
  const auto object = fs_.composites().open(id);
  if (!object && object.error().is_shortage()) return fail(object.error());
  if (!object) return {};  // missing: the check names it
  CFFS_TRY(const ObjectInfo info, (*object)->info());
  CompositeRow row = account.widest;
  row.size = info.size;
  std::uint64_t data = 0;
  const Status scanned = fs_.composites().scan(id, info.size, [&](const RecordMeta& record, std::uint64_t) {
    row.slots = record.slot + std::uint64_t{1};
    data += record.data_length;
  });
  if (!scanned && scanned.error().is_shortage()) return scanned;
  if (!scanned) broken_.insert(id);
  row.members = account.members;
  row.live_bytes = account.live_bytes;
  row.freed_bytes = data > row.live_bytes ? data - row.live_bytes : 0;
  Batch batch;
  batch.put(Key::null_name(id), encode_composite_row(row));
  CFFS_TRY_VOID(fs_.table().write(batch));
  mended(CompositeStore::object_name(id) + " had members and no row: made from its records");
  return {};
}

// A member whose room or group is none of its composite's is a group by itself: that is what it is read by, and nothing else.
Status Repair::mend_rooms() {
  for (SharingRepair::Member& member : met_->sharing.members()) {
    Extent& e = member.extent;
    const auto composite = met_->composites.find(e.composite);
    const bool ends_within =
        composite == met_->composites.end() || e.group_offset + e.group_length <= composite->second.size;
    const std::uint64_t room = room_of_record(e.offset, e.length);
    const bool has_group = is_in_its_group(e) && ends_within;
    if (e.capacity == room && has_group) continue;
    const EntryName& at = member.file.at;
    const Key key = at.name.empty() ? Key::null_name(member.file.ino) : fs_.rehousing().entry_key(at);
    CFFS_TRY(Row row, fs_.table().get_row(key));
    Entry* const entry = row.find(at.name);
    const bool is_it = entry != nullptr && entry->inode && entry->ino == member.file.ino &&
                       entry->inode->home == Home::composite && entry->inode->extent == e;
    if (!is_it) continue;
    e.capacity = room;
    if (!has_group) e.group_offset = e.offset;
    if (!has_group) e.group_length = e.length;
    entry->inode->extent = e;
    Batch batch;
    batch.put_row(key, row);
    CFFS_TRY_VOID(fs_.table().write(batch));
    mended("inode " + std::to_string(member.file.ino.value) + " '" + printable(at.name) +
           "' named room or a group that " + CompositeStore::object_name(e.composite) +
           " does not have: its own");
  }
  return {};
}

// Of a store that lost rows the damaged records may be those of files that nothing else tells of: the object is kept aside.
Status Repair::move_out_of_broken() {
  Evacuation::Names names;
  for (const auto& [ino, linked] : met_->linked) {
    if (!linked.names.empty()) names.emplace(ino, linked.names.front().second);
  }
  Evacuation evacuation(fs_, met_->sharing.members(), names);
  bool any = false;
  for (const CompositeId id : broken_) {
    const auto row = met_->composites.find(id);
    if (row == met_->composites.end()) continue;
    const auto moved = within_memory([&] { return evacuation.run(id, row->second.policy); });
    if (!moved && !moved.error().is_shortage()) return fail(moved.error());
    if (!moved || *moved == 0) continue;
    any = true;
    const std::string name = CompositeStore::object_name(id);
    mended("the header or a record of " + name + " was damaged: " + std::to_string(*moved) +
           " files are in a new composite");
    CFFS_TRY(const auto left, fs_.table().get(Key::null_name(id)));
    if (left || what_ == Lost::nothing) continue;
    CFFS_TRY(const std::string kept, Recovery::keep_aside(fs_.objects(), name));
    mended(name + " has no members any more: it is kept as " + kept + " in the store");
  }
  return any ? look() : Status();
}

}  // namespace cffs
