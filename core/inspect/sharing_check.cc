#include "core/inspect/sharing_check.h"

#include <algorithm>

#include "core/composite/composite_store.h"
#include "core/composite/shared_members.h"
#include "core/fs/rehousing.h"
#include "core/inspect/row_names.h"
#include "core/table/content_row.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

std::string record_text(CompositeId id, std::uint32_t slot) {
  return "slot " + std::to_string(slot) + " of " + CompositeStore::object_name(id);
}

bool before(const CheckedMember& m, const std::pair<CompositeId, std::uint32_t>& record) {
  return std::pair(m.composite, m.slot) < record;
}

// Those of one record.
std::span<const CheckedMember> files_of(std::span<const CheckedMember> by_slot,
                                        std::pair<CompositeId, std::uint32_t> record) {
  const auto begin = std::lower_bound(by_slot.begin(), by_slot.end(), record, before);
  auto end = begin;
  while (end != by_slot.end() && std::pair(end->composite, end->slot) == record) ++end;
  return {begin, end};
}

}  // namespace

void SharingCheck::note(CompositeId id, std::uint32_t slot, const MemberFiles& row) {
  if (!row.is_shared()) return;  // renamed, no more
  sharers_[{id, slot}] = row.files;
}

void SharingCheck::mark(std::span<CheckedMember> by_slot) const {
  for (CheckedMember& member : by_slot) member.is_shared = sharers_.contains({member.composite, member.slot});
}

// Where nobody shares, a record that two files name is found by what it says of its own.
Result<Findings> SharingCheck::run(std::span<const CheckedMember> by_slot) const {
  Findings found;
  if (sharers_.empty()) {
    CFFS_TRY(const bool used, may_share(table_));
    if (!used) return found;
  }
  for (auto begin = by_slot.begin(); begin != by_slot.end();) {
    const auto files = files_of({begin, by_slot.end()}, {begin->composite, begin->slot});
    check_record(files, found);
    begin += static_cast<std::ptrdiff_t>(files.size());
  }
  CFFS_TRY_VOID(check_sharers(by_slot, found));
  CFFS_TRY_VOID(check_contents(by_slot, found));
  return found;
}

void SharingCheck::check_record(std::span<const CheckedMember> files, Findings& found) const {
  const auto sharers = sharers_.find({files.front().composite, files.front().slot});
  const bool alone = files.size() == 1 && sharers == sharers_.end();
  if (alone) return;
  for (const CheckedMember& file : files) {
    const bool named = sharers != sharers_.end() &&
                       std::any_of(sharers->second.begin(), sharers->second.end(),
                                   [&](const MemberFile& sharer) { return sharer.ino == file.ino; });
    if (!named) {
      found.push_back({file.ino, ": no row says that it shares " + record_text(file.composite, file.slot)});
    }
  }
}

Status SharingCheck::check_sharers(std::span<const CheckedMember> by_slot, Findings& found) const {
  for (const auto& [record, sharers] : sharers_) {
    const auto files = files_of(by_slot, record);
    for (const MemberFile& sharer : sharers) {
      const bool has_it = std::any_of(files.begin(), files.end(),
                                      [&](const CheckedMember& f) { return f.ino == sharer.ino; });
      bool findable = false;
      if (has_it) {
        CFFS_TRY(findable, is_there(sharer));
      }
      if (has_it && findable) continue;
      found.push_back({{},
                       record_text(record.first, record.second) + " is shared by inode " +
                           std::to_string(sharer.ino.value) +
                           (has_it ? ", which is not where its row says" : ", which is not there")});
    }
  }
  return {};
}

// By its place, or by its number where it has several names. What the record says is for its own check.
Result<bool> SharingCheck::is_there(const MemberFile& file) const {
  if (file.at.name.empty()) return true;
  CFFS_TRY(const auto at, table_.get(fs_.rehousing().entry_key(file.at)));
  const auto row = at ? decode_row(*at) : Result<Row>(Row());
  const Entry* const entry = row ? row->find(file.at.name) : nullptr;
  if (entry != nullptr && entry->ino == file.ino) return true;
  CFFS_TRY(const auto linked, table_.get(Key::null_name(file.ino)));
  return linked.has_value();
}

Status SharingCheck::check_contents(std::span<const CheckedMember> by_slot, Findings& found) const {
  CFFS_TRY_VOID(table_.scan_tag(KeyTag::content, [&](Key key, std::string_view value) {
    const auto row = decode_content_row(key, value);
    if (!row) return true;  // the check of all rows tells
    const Extent& e = row->extent;
    const auto files = files_of(by_slot, {e.composite, e.slot});
    const bool true_of_it = !files.empty() && files.front().length == e.length &&
                            files.front().checksum == e.checksum && files.front().offset == e.offset;
    const auto same_room = [&e](const CheckedMember& file) { return file.room == room_mark(e); };
    if (true_of_it && std::none_of(files.begin(), files.end(), same_room)) {
      found.push_back({{},
                       "row " + key_text(key) + ": the content that it leads to, " +
                           record_text(e.composite, e.slot) +
                           ", has another group or room than its files' rows say: cffs fsck --repair removes the row"});
    }
    if (!true_of_it) {
      found.push_back({{},
                       "row " + key_text(key) + ": the content that it leads to, " +
                           record_text(e.composite, e.slot) + ", is no file's"});
    }
    return true;
  }));
  // Without that row no mount looks whether a record is shared.
  CFFS_TRY(const auto said, table_.get(system_key(SystemField::sharing)));
  if (!said) found.push_back({{}, "files share members, and the table does not say that they may"});
  return {};
}

}  // namespace cffs
