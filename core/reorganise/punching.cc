#include "core/reorganise/punching.h"

#include <algorithm>

#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/reorganise/readable_rows.h"
#include "core/table/table.h"

namespace cffs {

std::uint64_t Punching::seen(CompositeId id) const {
  const auto it = seen_.find(id);
  return it == seen_.end() ? 0 : it->second;
}

Result<std::vector<FreedComposites::Freed>> Punching::find(const std::function<bool()>& go_on) const {
  std::vector<FreedComposites::Freed> found;
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    if (row.freed_bytes >= seen(id) + block_bytes_) found.emplace_back(id, row.freed_bytes - seen(id));
    return go_on();
  };
  visitor.entries = [&](Key, const Row&) { return go_on(); };
  CFFS_TRY_VOID(scan_readable(fs_.table(), visitor));
  return found;
}

Result<Punching::Done> Punching::run(std::span<const CompositeId> ids) {
  Done done;
  const auto held = [&]() -> Done {
    done.later.assign(ids.begin(), ids.end());
    done.held = true;
    return std::move(done);
  };
  if (fs_.holds_moment()) return held();
  std::vector<Holes> looked;
  {
    const CompositesAtWork& being_named = fs_.composites().being_named();
    std::vector<CompositeId> named;  // before the snapshot: all their rows are in it
    for (const CompositeId id : ids) (being_named.has(id) ? done.later : named).push_back(id);
    const auto rows = fs_.table().snapshot();
    for (const CompositeId id : named) {
      if (useless_) return done;
      auto holes = look(id, *rows);
      if (holes) {
        done.read += holes->read;
        looked.push_back(std::move(*holes));
      } else {
        done.later.push_back(id);
      }
    }
  }
  const auto has_ranges = [](const Holes& holes) { return !holes.ranges.empty(); };
  if (std::any_of(looked.begin(), looked.end(), has_ranges)) {
    CFFS_TRY_VOID(fs_.sync());
  }
  // A moment that is held only from now on is of after the snapshot, and does not know what is punched.
  if (fs_.holds_moment()) return held();
  for (const Holes& holes : looked) {
    const auto punched = punch(holes);
    done.punched += punched.value_or(0);
    if (punched && holes.all) {
      seen_[holes.id] = holes.freed;
    } else {
      done.later.push_back(holes.id);
    }
  }
  return done;
}

Result<Punching::Holes> Punching::look(CompositeId id, const TableSnapshot& rows) const {
  Holes holes;
  holes.id = id;
  CFFS_TRY(const auto value, rows.get(Key::null_name(id)));
  if (!value) return holes;
  CFFS_TRY(const CompositeRow row, decode_composite_row(*value));
  holes.freed = seen(id);
  if (row.freed_bytes < holes.freed + block_bytes_) return holes;
  holes.read = row.size;
  holes.freed = row.freed_bytes;
  std::uint64_t members = 0, live_bytes = 0;
  Status problem;
  std::vector<Range> dead;
  CFFS_TRY_VOID(fs_.composites().scan(id, row.size, [&](const RecordMeta& record, std::uint64_t data_at) {
    const auto files = fs_.rehousing().members_of(record, id, &rows);
    if (!files) {
      problem = fail(files.error());
    } else if (!files->empty()) {
      members += files->size();
      live_bytes += files->front().inode.extent.length;
    } else if (fs_.rehousing().is_in_use(record, id)) {
      holes.all = false;
    } else if (const Range range = blocks_of(data_at, record.data_length); range.length > 0) {
      dead.push_back(range);
    }
  }));
  CFFS_TRY_VOID(problem);
  if (members != row.members || live_bytes != row.live_bytes) {  // somebody was not found
    holes.all = false;
    return holes;
  }
  CFFS_TRY(holes.object, fs_.composites().open(id));
  holes.packed = CompositeStore::compression_of(*holes.object);
  if (holes.packed != Compression{}) return look_packed(std::move(holes), dead);
  for (const Range& range : dead) {
    CFFS_TRY(const std::uint64_t data, holes.object->next_data(range.offset));
    if (data < range.offset + range.length) holes.ranges.push_back(range);
  }
  return holes;
}

namespace {

// A large member's range is as long as it: it passes through in pieces.
Result<bool> has_zeros_alone(const Object& object, std::uint64_t offset, std::uint64_t length,
                             std::string& piece) {
  constexpr std::uint64_t kPiece = 1u << 20;
  for (const std::uint64_t end = offset + length; offset < end;) {
    piece.resize(std::min(kPiece, end - offset));
    CFFS_TRY(const std::size_t n, object.read_at(offset, as_writable_bytes(piece)));
    if (piece.find_first_not_of('\0') < n) return false;
    if (n < piece.size()) return true;
    offset += n;
  }
  return true;
}

}  // namespace

// One that is packed is written anew for it: only where there is room for that, and enough comes of it.
Result<Punching::Holes> Punching::look_packed(Holes holes, const std::vector<Range>& dead) const {
  std::uint64_t bytes = 0;
  std::string piece;
  for (const Range& range : dead) {
    if (range.offset > holes.read || range.length > holes.read - range.offset) continue;
    CFFS_TRY(const bool empty, has_zeros_alone(*holes.object, range.offset, range.length, piece));
    if (empty) continue;
    holes.ranges.push_back(range);
    bytes += range.length;
  }
  CFFS_TRY(const ObjectInfo info, holes.object->info());
  const auto space = fs_.statfs();
  const bool has_room = space && space->available_bytes > info.allocated;
  const bool worth_it = bytes >= holes.read / kLeastOfPacked;
  if (worth_it && has_room) return holes;
  holes.ranges.clear();
  holes.all = holes.all && !worth_it;  // else another time
  return holes;
}

// What the range has of whole blocks.
Punching::Range Punching::blocks_of(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t first = (offset + block_bytes_ - 1) / block_bytes_ * block_bytes_;
  const std::uint64_t end = (offset + length) / block_bytes_ * block_bytes_;
  return end > first ? Range{first, end - first} : Range{};
}

Result<std::uint64_t> Punching::write_without(const Holes& holes) {
  if (holes.ranges.empty()) return 0;
  std::vector<CompositeStore::Piece> zeros;
  for (const Range& range : holes.ranges) zeros.emplace_back(range.offset, range.length);
  CFFS_TRY(const ObjectInfo before, holes.object->info());
  CFFS_TRY(const bool made, fs_.rehousing().pack(holes.id, holes.packed, zeros));
  if (!made) return fail(EBUSY, "a composite that somebody else uses");
  CFFS_TRY(const auto object, fs_.composites().open(holes.id));
  CFFS_TRY(const ObjectInfo after, object->info());
  return before.allocated - std::min(before.allocated, after.allocated);
}

Result<std::uint64_t> Punching::punch(const Holes& holes) {
  std::uint64_t bytes = 0;
  if (holes.packed != Compression{}) return write_without(holes);
  for (const Range& range : holes.ranges) {
    if (useless_) break;
    CFFS_TRY(const bool given, holes.object->give_back(range.offset, range.length));
    useless_ = !given;
    bytes += given ? range.length : 0;
  }
  return bytes;
}

}  // namespace cffs
