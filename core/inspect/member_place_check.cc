#include "core/inspect/member_place_check.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/table/files_of_records.h"

namespace cffs {
namespace {

std::string place_text(const EntryName& at) {
  return "'" + printable(at.name) + "' of directory " + std::to_string(at.parent.value);
}

}  // namespace

// What cannot be read or decoded was told by who read all rows.
MemberPlaceCheck::MemberPlaceCheck(FileSystem& fs, CompositeId id, bool rows_missing, Findings& found)
    : fs_(fs), id_(id), rows_missing_(rows_missing), found_(found) {
  if (auto rows = files_of_records(fs_.table(), id)) rows_ = std::move(*rows);
}

void MemberPlaceCheck::look(const RecordMeta& record, std::span<const CheckedMember> files) {
  const auto found = rows_.extract(record.slot);
  const MemberFiles* const row = found ? &found.mapped() : nullptr;
  if (row != nullptr && files.empty()) nobodys(record.slot, *row);
  for (const CheckedMember& file : files) check_file(record, file, row);
}

void MemberPlaceCheck::end() {
  for (const auto& [slot, row] : rows_) nobodys(slot, row);
}

// Who is said to share a record is held against the files' rows by the check of sharing.
void MemberPlaceCheck::check_file(const RecordMeta& record, const CheckedMember& file,
                                  const MemberFiles* row) {
  if (file.is_linked) return;
  const bool is_alone = row != nullptr && !row->is_shared();
  const EntryName* said = is_alone ? &row->files.front().at : nullptr;
  if (row != nullptr && !is_alone) {
    const auto its = std::find_if(row->files.begin(), row->files.end(),
                                  [&](const MemberFile& sharer) { return sharer.ino == file.ino; });
    if (its == row->files.end() || !its->at.name.empty()) return;
  }
  if (said != nullptr) {
    if (place_mark(fs_.rehousing().entry_key(*said)) == file.place) return;
    found_.push_back({file.ino, ": the row of " + slot_text(record.slot) + " says that it is " +
                                    place_text(*said) +
                                    ", which is not so: cffs fsck --repair corrects that"});
    return;
  }
  const bool is_where_recorded = record.ino == file.ino && place_mark(fs_.rehousing().entry_key(
                                                               record.parent, record.name)) == file.place;
  if ((is_where_recorded && (!file.is_renamed || row != nullptr)) || rows_missing_) return;
  if (record.ino != file.ino && row == nullptr) return;  // that its record is not of it is told
  found_.push_back({file.ino, ": it was renamed, and no row of " + slot_text(record.slot) +
                                  " says where to: cffs fsck --repair writes one"});
}

void MemberPlaceCheck::nobodys(std::uint32_t slot, const MemberFiles& row) {
  if (rows_missing_ || row.is_shared()) return;
  found_.push_back({{},
                    slot_text(slot) + ": a row says that it is " + place_text(row.files.front().at) +
                        ", which is not there: cffs fsck --repair removes the row"});
}

std::string MemberPlaceCheck::slot_text(std::uint32_t slot) const {
  return "slot " + std::to_string(slot) + " of " + CompositeStore::object_name(id_);
}

}  // namespace cffs
