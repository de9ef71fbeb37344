#include "core/repair/sharing_repair.h"

#include <algorithm>
#include <tuple>

#include "core/composite/composite_store.h"
#include "core/composite/shared_members.h"
#include "core/table/content_row.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

// Whether a row's files are these, where these are; what a row leaves to the record to say is not judged, nor is where hard-linked ones are.
bool are_true(const std::vector<MemberFile>& said, const std::vector<MemberFile>& files) {
  const auto is_one_of = [&files](const MemberFile& one) {
    return std::any_of(files.begin(), files.end(), [&one](const MemberFile& file) {
      return file.ino == one.ino && (one.at.name.empty() || file.at.name.empty() || file.at == one.at);
    });
  };
  return said.size() == files.size() && std::all_of(said.begin(), said.end(), is_one_of);
}

}  // namespace

void SharingRepair::note(Key key, const Entry& entry) {
  if (!entry.inode || entry.inode->home != Home::composite) return;
  const Extent& e = entry.inode->extent;
  // A null name's own number leads to it.
  EntryName at;
  if (!entry.name.empty()) at = {InodeId{key.upper}, entry.name};
  members_.push_back({{e.composite, e.slot}, {entry.ino, std::move(at)}, e});
}

void SharingRepair::note(CompositeId id, std::uint32_t slot, const MemberFiles& row) {
  if (row.is_shared()) rows_[{id, slot}] = row.files;
}

Status SharingRepair::note_damaged(Key key) {
  CFFS_TRY(const auto value, table_.get(key));
  const bool of_files = value && key.lower != 0 && row_kind(key, *value) == RowKind::member_files;
  const auto row = of_files ? decode_member_files(*value) : Result<MemberFiles>(fail(ENOENT));
  if (!row) return {};
  const Record record{CompositeId{key.upper}, static_cast<std::uint32_t>(key.lower - 1)};
  if (!row->is_shared()) strays_.push_back(record);
  note(record.first, record.second, *row);
  return {};
}

// Where nobody shares, a record that two files name is one file's, and the check names the other.
Result<std::map<CompositeId, std::uint64_t>> SharingRepair::live_bytes() {
  CFFS_TRY(const bool said, may_share(table_));
  used_ = said || !rows_.empty();
  std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
    return std::tie(a.record, a.file.ino) < std::tie(b.record, b.file.ino);
  });
  std::map<CompositeId, std::uint64_t> live;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool met = i > 0 && members_[i - 1].record == members_[i].record;
    if (!met || !used_) live[members_[i].record.first] += members_[i].extent.length;
  }
  return live;
}

Result<std::vector<std::string>> SharingRepair::run() {
  if (!used_) return std::vector<std::string>();
  Batch batch;
  CFFS_TRY_VOID(mend_files(batch));
  CFFS_TRY_VOID(mend_contents(batch));
  CFFS_TRY_VOID(mend_row(batch));
  CFFS_TRY_VOID(table_.write(batch));
  return std::move(mended_);
}

// More than there may be nobody wrote: the check goes on naming them.
Status SharingRepair::mend_files(Batch& batch) {
  const auto said = [this](const Record& record, const char* what) {
    mended_.push_back("slot " + std::to_string(record.second) + " of " +
                      CompositeStore::object_name(record.first) + what);
  };
  for (auto begin = members_.begin(); begin != members_.end();) {
    const Record record = begin->record;
    MemberFiles files;
    for (; begin != members_.end() && begin->record == record; ++begin) files.files.push_back(begin->file);
    const auto row = rows_.find(record);
    const bool has_row = row != rows_.end();
    const bool is_true = has_row ? are_true(row->second, files.files) : files.files.size() == 1;
    if (has_row) rows_.erase(row);
    if (is_true || files.files.size() > kMostSharers) continue;
    batch.put(Key::member_files(record.first, record.second), encode_member_files(files));
    said(record, ": who shares it was not what its row said");
  }
  for (const auto& [record, files] : rows_) {
    batch.erase(Key::member_files(record.first, record.second));
    said(record, " was nobody's, and a row said who shares it: removed");
  }
  return {};
}

// A content that is found by nobody any more is written again, and that is all.
Status SharingRepair::mend_contents(Batch& batch) {
  std::size_t dropped = 0;
  CFFS_TRY_VOID(table_.scan_tag(KeyTag::content, [&](Key key, std::string_view value) {
    const auto row = decode_content_row(key, value);
    const Extent e = row ? row->extent : Extent();
    auto file =
        std::lower_bound(members_.begin(), members_.end(), Record{e.composite, e.slot},
                         [](const Member& m, const Record& wanted) { return m.record < wanted; });
    const auto same = [&e](Extent its) {
      its.moved = e.moved;
      return its == e;
    };
    for (; row && file != members_.end() && file->record == Record{e.composite, e.slot}; ++file) {
      if (same(file->extent)) return true;
    }
    batch.erase(key);
    ++dropped;
    return true;
  }));
  if (dropped > 0) {
    mended_.push_back(std::to_string(dropped) + " rows of contents led to what is no file's, or not as it lies: removed");
  }
  return {};
}

// Without that row nobody looks whether a record is shared.
Status SharingRepair::mend_row(Batch& batch) {
  const Key key = system_key(SystemField::sharing);
  CFFS_TRY(const auto row, table_.get(key));
  if (row && decode_sharing(*row)) return {};
  batch.put(key, encode_sharing(true));
  mended_.emplace_back("whether files share members was lost: they do");
  return {};
}

}  // namespace cffs
