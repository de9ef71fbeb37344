#include "core/reorganise/punching.h"

#include <algorithm>

#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr std::size_t kAtOnce = 256;  // composites between two syncs: each keeps a handle open meanwhile

}  // namespace

Result<std::vector<CompositeId>> Punching::find() const {
  std::vector<CompositeId> found;
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    if (row.freed_bytes >= block_bytes_) found.push_back(id);
    return true;
  };
  visitor.damaged = pass_over;
  CFFS_TRY_VOID(fs_.table().scan_namespace(visitor));
  return found;
}

Result<std::uint64_t> Punching::run(std::span<const CompositeId> ids) {
  std::uint64_t bytes = 0;
  for (std::size_t first = 0; first < ids.size() && !useless_; first += kAtOnce) {
    std::vector<Holes> all;
    {
      const auto rows = fs_.table().snapshot();
      for (const CompositeId id : ids.subspan(first, std::min(kAtOnce, ids.size() - first))) {
        auto holes = look(id, *rows);
        if (holes && holes->bytes > 0) all.push_back(std::move(*holes));
      }
    }
    if (all.empty()) continue;
    CFFS_TRY_VOID(fs_.sync());
    // A moment that is held only now is of after the snapshot, and does not know what is punched.
    if (fs_.holds_moment()) break;
    for (const Holes& holes : all) {
      CFFS_TRY(const std::uint64_t punched, punch(holes));
      bytes += punched;
    }
  }
  return bytes;
}

Result<Punching::Holes> Punching::look(CompositeId id, const TableSnapshot& rows) const {
  Holes holes;
  CFFS_TRY(const auto value, rows.get(Key::null_name(id)));
  if (!value) return holes;
  CFFS_TRY(const CompositeRow row, decode_composite_row(*value));
  if (row.freed_bytes < block_bytes_) return holes;
  std::uint64_t members = 0, live_bytes = 0;
  Status problem;
  CFFS_TRY_VOID(fs_.composites().scan(id, row.size, [&](const RecordMeta& record, std::uint64_t data_at) {
    const auto member = fs_.rehousing().member_of(record, id, &rows);
    if (!member) {
      problem = fail(member.error());
    } else if (*member) {
      ++members;
      live_bytes += (*member)->inode.extent.length;
    } else if (const Range range = blocks_of(data_at, record.data_length);
               range.length > 0 && !fs_.rehousing().is_in_use(record, id)) {
      holes.ranges.push_back(range);
      holes.bytes += range.length;
    }
  }));
  CFFS_TRY_VOID(problem);
  if (holes.ranges.empty()) return holes;
  if (members != row.members || live_bytes != row.live_bytes) return Holes{};  // somebody was not found
  CFFS_TRY(holes.object, fs_.composites().open(id));
  CFFS_TRY(const ObjectInfo info, holes.object->info());
  // Its extents take room as well, so a little of what was punched may not show.
  const std::uint64_t punched = info.size - std::min(info.size, info.allocated);
  const bool was = punched > 0 && punched + holes.bytes / 16 + block_bytes_ >= holes.bytes;
  return was ? Holes{} : holes;
}

// What the range has of whole blocks.
Punching::Range Punching::blocks_of(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t first = (offset + block_bytes_ - 1) / block_bytes_ * block_bytes_;
  const std::uint64_t end = (offset + length) / block_bytes_ * block_bytes_;
  return end > first ? Range{first, end - first} : Range{};
}

Result<std::uint64_t> Punching::punch(const Holes& holes) {
  CFFS_TRY(const ObjectInfo before, holes.object->info());
  for (const Range& range : holes.ranges) {
    CFFS_TRY_VOID(holes.object->punch_hole(range.offset, range.length));
  }
  CFFS_TRY(const ObjectInfo after, holes.object->info());
  useless_ = after.allocated >= before.allocated;
  return holes.bytes;
}

}  // namespace cffs
