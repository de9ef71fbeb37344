#include "core/inspect/member_place_check.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"

namespace cffs {
namespace {

bool is_several(const MemberFiles& row) { return row.files.front().ino.value != 0; }

std::string place_text(const EntryName& at) {
  return "'" + printable(at.name) + "' of directory " + std::to_string(at.parent.value);
}

}  // namespace

// What cannot be read or decoded was told by who read all rows.
MemberPlaceCheck::MemberPlaceCheck(FileSystem& fs, CompositeId id, bool rows_missing, Findings& found)
    : fs_(fs), id_(id), rows_missing_(rows_missing), found_(found) {
  const auto note = [this](Key key, std::string_view value) {
    if (row_kind(key, value) != RowKind::member_files) return true;
    if (auto row = decode_member_files(value))
      rows_.emplace_back(static_cast<std::uint32_t>(key.lower - 1), std::move(*row));
    return true;
  };
  (void)fs_.table().scan(Key::member_files(id, 0), {id.value, ~std::uint64_t{0}}, note);
}

void MemberPlaceCheck::look(const RecordMeta& record, std::span<const CheckedMember> files) {
  while (next_ < rows_.size() && rows_[next_].first < record.slot) nobodys(rows_[next_++]);
  const bool has_row = next_ < rows_.size() && rows_[next_].first == record.slot;
  const MemberFiles* const row = has_row ? &rows_[next_++].second : nullptr;
  if (row != nullptr && files.empty()) nobodys(rows_[next_ - 1]);
  for (const CheckedMember& file : files) check_file(record, file, row);
}

void MemberPlaceCheck::end() {
  while (next_ < rows_.size()) nobodys(rows_[next_++]);
}

// Who is said to share a record is held against the files' rows by the check of sharing.
void MemberPlaceCheck::check_file(const RecordMeta& record, const CheckedMember& file,
                                  const MemberFiles* row) {
  if (file.is_linked) return;
  const bool is_alone = row != nullptr && !is_several(*row);
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

void MemberPlaceCheck::nobodys(const Row& row) {
  if (rows_missing_ || is_several(row.second)) return;
  found_.push_back({{},
                    slot_text(row.first) + ": a row says that it is " +
                        place_text(row.second.files.front().at) +
                        ", which is not there: cffs fsck --repair removes the row"});
}

std::string MemberPlaceCheck::slot_text(std::uint32_t slot) const {
  return "slot " + std::to_string(slot) + " of " + CompositeStore::object_name(id_);
}

}  // namespace cffs
