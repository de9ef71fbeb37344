#include "core/reorganise/compaction.h"

#include <iterator>

#include "core/composite/composite_store.h"
#include "core/fs/staged_directories.h"
#include "core/reorganise/readable_rows.h"
#include "core/table/table.h"

namespace cffs {

Result<std::vector<CompositeId>> Compaction::find_wasteful() const {
  std::vector<CompositeId> found;
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    if (row.is_wasteful()) found.push_back(id);
    return true;
  };
  CFFS_TRY_VOID(scan_readable(fs_.table(), visitor));
  return found;
}

Result<std::vector<FileToMove>> Compaction::living_members(CompositeId id, std::uint64_t bytes) const {
  std::vector<FileToMove> members;
  Status problem;
  const Status scanned = fs_.composites().scan(id, bytes, [&](const RecordMeta& record, std::uint64_t) {
    auto files = fs_.rehousing().members_of(record, id);
    if (!files) {
      problem = fail(files.error());
    } else {
      std::move(files->begin(), files->end(), std::back_inserter(members));
    }
  });
  if (!scanned) {
    CFFS_TRY(const auto still, fs_.table().get(Key::null_name(id)));
    if (still) return fail(scanned.error());
    return std::vector<FileToMove>();  // its last members may have gone since that look
  }
  CFFS_TRY_VOID(problem);
  return members;
}

Result<std::uint64_t> Compaction::run(CompositeId id) {
  CFFS_TRY(const auto value, fs_.table().get(Key::null_name(id)));
  if (!value) {  // gone meanwhile
    CFFS_TRY_VOID(fs_.staged_directories().forget_wasteful(id));
    return 0;
  }
  CFFS_TRY(const CompositeRow row, decode_composite_row(*value));
  if (!row.is_wasteful()) return 0;
  filler_.leave(id);
  CFFS_TRY(auto members, living_members(id, row.size));
  std::vector<CompositeFiller::Group> groups;
  std::uint64_t group_of_last = 0;
  for (FileToMove& member : members) {
    const std::uint64_t group = member.inode.extent.group_offset;
    const bool shares = !groups.empty() && !groups.back().empty() &&
                        groups.back().back().inode.extent.slot == member.inode.extent.slot;
    const bool full = !groups.empty() && groups.back().size() >= grouping::kMostMembers;
    if (groups.empty() || group != group_of_last || (full && !shares)) groups.emplace_back();
    group_of_last = group;
    CFFS_TRY_VOID(filler_.read_into(groups.back(), std::move(member)));
  }
  std::erase_if(groups, [](const CompositeFiller::Group& group) { return group.empty(); });
  if (groups.empty()) return row.size;
  CFFS_TRY_VOID(filler_.add(std::move(groups), static_cast<grouping::PolicyId>(row.policy),
                            CompositeFiller::Purpose::compaction));
  return row.size + row.live_bytes;
}

}  // namespace cffs
