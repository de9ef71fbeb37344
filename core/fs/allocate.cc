// fallocate and copy_file_range.
//
// Small files are dense: room for them is the table's, so reserving is checking that it is there, and a hole is zeros.
// Where a range reaches beyond what stays in the table, the file becomes a blob and its object does the work.
#include <algorithm>
#include <optional>

#include "core/fs/content_change.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

Status allocate_in(Object& object, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                   std::uint64_t old_size, std::uint64_t new_size) {
  // What may fail for want of room comes before what cannot be taken back.
  if (mode != AllocateMode::punch_hole) CFFS_TRY_VOID(object.allocate(offset, length));
  if (new_size > old_size) CFFS_TRY_VOID(object.truncate(new_size));
  if (mode == AllocateMode::reserve || offset >= old_size) return {};
  CFFS_TRY_VOID(object.punch_hole(offset, length));
  return mode == AllocateMode::zero_range ? object.allocate(offset, length) : Status();
}

}  // namespace

Status Engine::allocate(InodeId ino, std::uint64_t offset, std::uint64_t length, AllocateMode mode,
                        bool keep_size, const Caller& caller) {
  if (length == 0) return fail(EINVAL);
  if (offset > kFileMax || length > kFileMax - offset) return fail(EFBIG);
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  Node& node = *found;
  if (S_ISDIR(node.type)) return fail(EISDIR);
  if (!S_ISREG(node.type)) return fail(ENODEV);
  const bool punches = mode == AllocateMode::punch_hole;
  const std::uint64_t bytes = punches ? 0 : bytes_to_find(node, offset, length);
  if (bytes > 0) CFFS_TRY_VOID(space_.charge(bytes));
  CFFS_TRY_VOID(table_->begin_changes());
  announce_blocking();  // an object may take its time to find room

  const auto once = [&]() -> Status {
    std::optional<MomentHold::Passage> passage;
    for (;;) {
      CFFS_TRY_VOID(break_seal(node));
      if (passage) CFFS_TRY_VOID(keep_for_moment(node, *passage, offset, length));
      {
        const NodeUpdate update(locks_, node);
        const bool may_change = !moments_.watched() || passage;
        if (may_change && !node.open_to_change()) continue;
        if (may_change) {
          const std::uint64_t size = node.inode.size;
          const std::uint64_t new_size = punches || keep_size ? size : std::max(size, offset + length);
          ContentChange change(*table_, node.inode);
          const Status built = build_allocate(node, change, offset, length, mode, new_size);
          return finish_change(node, change, built, now(), caller);
        }
      }
      passage.emplace(moments_);
    }
  };
  Status done = with_room(once);
  homes_.limit_dirty();
  return done;
}

Status Engine::build_allocate(Node& node, ContentChange& change, std::uint64_t offset, std::uint64_t length,
                              AllocateMode mode, std::uint64_t new_size) {
  Inode& inode = node.inode;
  const std::uint64_t end = offset + length;
  const std::uint64_t needed = mode == AllocateMode::punch_hole ? inode.size : std::max(end, inode.size);
  if (inode.home != Home::blob && needed <= homes_.inline_limit(inode)) {
    if (mode == AllocateMode::reserve && new_size == inode.size) return {};  // nothing to see but the times
    CFFS_TRY(std::string content, homes_.load_small(node));
    if (mode != AllocateMode::reserve && offset < content.size()) {
      std::fill(content.begin() + static_cast<std::ptrdiff_t>(offset),
                content.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(end, content.size())),
                '\0');
    }
    content.resize(new_size);
    return put_small(node, change, std::move(content));
  }
  if (inode.home != Home::blob) {
    const std::uint64_t size = inode.size;
    return move_to_blob(
        node, change, [&](Object& blob) { return allocate_in(blob, offset, length, mode, size, new_size); });
  }
  CFFS_TRY(const auto object, homes_.object_of(node));
  if (new_size > inode.size) CFFS_TRY_VOID(cut_tail(*object, inode.size));
  const Status allocated = allocate_in(*object, offset, length, mode, inode.size, new_size);
  dirty_objects_->note(inode.ino, object);  // what was done of it, too
  CFFS_TRY_VOID(allocated);
  CFFS_TRY(const ObjectInfo info, object->info());
  inode.allocated = info.allocated;
  inode.size = new_size;
  return {};
}

Result<std::uint64_t> Engine::copy_range(InodeId from, std::uint64_t from_offset, InodeId to,
                                         std::uint64_t to_offset, std::uint64_t length,
                                         const Caller& caller) {
  constexpr std::uint64_t kPiece = 1u << 20;
  if (from == to) {
    CFFS_TRY(const Attributes file, getattr(from));
    const std::uint64_t there = file.size - std::min(file.size, from_offset);
    length = std::min(length, there);  // not what the copy itself adds
    const std::uint64_t apart = std::max(from_offset, to_offset) - std::min(from_offset, to_offset);
    if (apart < length) return fail(EINVAL);
  }
  std::string buffer(std::min(length, kPiece), '\0');
  std::uint64_t copied = 0;
  while (copied < length) {
    const std::uint64_t wanted = std::min(length - copied, kPiece);
    const auto n = read(from, from_offset + copied, as_writable_bytes(buffer).first(wanted));
    Status done = n ? Status() : Status(fail(n.error()));
    if (n && *n == 0) break;
    if (n) done = write(to, to_offset + copied, as_bytes(buffer).first(*n), caller);
    if (!done && copied == 0) return fail(done.error());
    if (!done) break;  // what was copied counts; the next call meets the error
    copied += *n;
  }
  return copied;
}

}  // namespace cffs
