#include "core/repair/evacuation.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/base/no_room.h"
#include "core/base/within_memory.h"
#include "core/composite/composite_store.h"
#include "core/fs/limits.h"
#include "core/table/table.h"

namespace cffs {

Result<std::size_t> Evacuation::run(CompositeId id, std::uint8_t policy) {
  CFFS_TRY(auto files, whole_members(id));
  std::size_t moved = 0;
  for (const bool may_share : {true, false}) {
    if (files.empty()) break;
    const Status done = within_memory([&] { return move(files, policy, may_share, moved); });
    // What has moved has, which who asked must know; the next repair moves the others.
    if (!done && (is_no_room(done.error().errno_value) || done.error().is_shortage())) break;
    if (!done) return fail(done.error());
  }
  return moved;
}

// With their contents.
Result<std::vector<FileToMove>> Evacuation::whole_members(CompositeId id) const {
  std::vector<FileToMove> files;
  const SharingRepair::Record first{id, 0};
  auto member = std::lower_bound(
      members_.begin(), members_.end(), first,
      [](const SharingRepair::Member& m, const SharingRepair::Record& record) { return m.record < record; });
  for (; member != members_.end() && member->record.first == id; ++member) {
    CFFS_TRY(auto file, look(*member));
    if (!file) continue;
    const auto read = fs_.rehousing().read(*file);
    if (!read && read.error().is_shortage()) return fail(read.error());
    if (read && *read) files.push_back(std::move(*file));
  }
  std::stable_sort(files.begin(), files.end(), [](const FileToMove& a, const FileToMove& b) {
    return a.inode.extent.offset < b.inode.extent.offset;
  });
  return files;
}

// As its row is by now: other mends may have changed it.
Result<std::optional<FileToMove>> Evacuation::look(const SharingRepair::Member& member) const {
  FileToMove file;
  file.at = member.file.at;
  file.row_key = file.at.name.empty() ? Key::null_name(member.file.ino) : fs_.rehousing().entry_key(file.at);
  CFFS_TRY(const Row row, fs_.table().get_row(file.row_key));
  const Entry* const entry = row.find(file.at.name);
  const bool is_it = entry != nullptr && entry->inode && entry->ino == member.file.ino &&
                     entry->inode->home == Home::composite &&
                     entry->inode->extent.composite == member.record.first &&
                     entry->inode->extent.slot == member.record.second;
  if (!is_it) return std::optional<FileToMove>();
  file.inode = *entry->inode;
  file.inode.ino = entry->ino;
  if (!file.at.name.empty()) return std::optional(std::move(file));
  const auto known = names_.find(member.file.ino.value);
  if (known == names_.end()) return std::optional<FileToMove>();  // no record could say whose it is
  file.at = known->second;
  return std::optional(std::move(file));
}

Status Evacuation::move(std::vector<FileToMove>& files, std::uint8_t policy, bool may_share,
                        std::size_t& moved) {
  CFFS_TRY(const CompositeId id, fs_.rehousing().begin_composite());
  CompositeBuilder builder(id, 0, 0);
  const std::size_t before = moved;
  const auto fill = [&]() -> Status {
    std::map<std::uint32_t, std::size_t> by_record;  // which extent has what was in that slot
    std::uint64_t group = files.front().inode.extent.group_offset;
    for (FileToMove& file : files) {
      const Extent& old = file.inode.extent;
      if (old.group_offset != std::exchange(group, old.group_offset)) builder.end_group();
      const auto there = by_record.find(old.slot);
      file.shares_extent = may_share && there != by_record.end();
      if (file.shares_extent) {
        file.extent_number = there->second;
        continue;
      }
      CFFS_TRY_VOID(fs_.rehousing().reserve_to_give_back(file.content.size()));
      file.extent_number = builder.add(file.at.parent, file.at.name, file.inode, file.content);
      by_record.try_emplace(old.slot, file.extent_number);
    }
    builder.end_group();
    CFFS_TRY_VOID(fs_.composites().append(builder, /*sync=*/true, nullptr, CompositeStore::Content::all));
    return switch_rows(builder, files, policy, moved);
  };
  Status done = fill();
  // What came to nothing leaves no object behind; rows that were switched before it failed name it.
  if (moved == before) fs_.rehousing().drop_composite(id);
  return done;
}

Status Evacuation::switch_rows(const CompositeBuilder& builder, std::vector<FileToMove>& files,
                               std::uint8_t policy, std::size_t& moved) {
  std::vector<FileToMove> refused;
  for (std::size_t begin = 0; begin < files.size(); begin += kRowsAtOnce) {
    const std::span some = std::span(files).subspan(begin, std::min(kRowsAtOnce, files.size() - begin));
    CFFS_TRY(const auto switched, fs_.rehousing().into_composite(
                                      builder, begin == 0, static_cast<grouping::PolicyId>(policy), some));
    moved += switched.files;
    for (const std::size_t i : switched.refused) refused.push_back(std::move(some[i]));
  }
  files = std::move(refused);
  return {};
}

}  // namespace cffs
