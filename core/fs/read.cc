// Reading a file, wherever its data is. The node is held shared, so a move between homes waits for readers
// and readers never see one.
#include <algorithm>
#include <cstring>

#include "core/fs/engine.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

Result<std::size_t> read_object(const Object& object, std::uint64_t offset, Bytes out) {
  CFFS_TRY(const auto cached, object.try_read_at(offset, out));
  if (cached) return *cached;
  announce_blocking();
  return object.read_at(offset, out);
}

}  // namespace

Result<std::size_t> Engine::read(InodeId ino, std::uint64_t offset, Bytes out, ReaderId reader) {
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  Node& node = *found;
  const ReadLock guard(node.mutex);
  if (node.inode.is_directory()) return fail(EISDIR);
  if (offset >= node.inode.size || out.empty()) return std::size_t{0};
  out = out.first(std::min<std::uint64_t>(out.size(), node.inode.size - offset));

  CFFS_TRY_VOID(node.check_kept());
  if (node.orphan_bytes) {
    std::memcpy(out.data(), node.orphan_bytes->bytes.data() + offset, out.size());
    return out.size();
  }
  switch (node.inode.home) {
    case Home::none:
      std::fill(out.begin(), out.end(), std::byte{0});
      return out.size();
    case Home::inline_:
      CFFS_TRY_VOID(homes_.read_inline(node.inode, offset, out));
      return out.size();
    case Home::composite:
      return read_member(node, offset, out, reader);
    case Home::blob: {
      const Status done = read_blob(node, offset, out);
      if (!done) return fail(told(node, done.error()));
      return out.size();
    }
  }
  return fail(Error::corruption("inode " + std::to_string(ino.value) + " has no known home"));
}

// The log names the file where its data is damaged.
const Error& Engine::told(const Node& node, const Error& error) const {
  if (error.kind == ErrorKind::corruption) {
    log("inode " + std::to_string(node.ino.value) + " (" + node.name + "): " + error.message());
  }
  return error;
}

// An object that is shorter than its file is damage: what a power cut leaves was put right when the store was opened.
Status Engine::read_blob(const Node& node, std::uint64_t offset, Bytes out) const {
  CFFS_TRY(const auto object, homes_.object_of(node));
  CFFS_TRY(const std::size_t n, read_object(*object, offset, out));
  if (n < out.size()) {
    return fail(Error::corruption("its blob ends at byte " + std::to_string(offset + n) + ", the file at " +
                                  std::to_string(node.inode.size)));
  }
  return node.inode.sealed ? homes_.sums().verify(node.ino, *object, node.inode.size, offset, out) : Status();
}

// The checksum is looked at once for as long as the node lives.
Result<std::size_t> Engine::read_member(Node& node, std::uint64_t offset, Bytes out, ReaderId reader) {
  const Extent& extent = node.inode.extent;
  CFFS_TRY(const auto object, homes_.object_of(node));
  const std::uint64_t known_good = node.verified.load(std::memory_order_relaxed);
  const bool verify = known_good != extent.checksum || known_good == 0;
  auto n = verify ? composites_.read_for({reader, node.ino}, *object, extent, offset, out)
                  : composites_.read_again({reader, node.ino}, *object, extent, offset, out);
  const bool seen = verify && !CompositeStore::is_checked_by_frames(*object, extent, offset, out);
  if (n && seen) node.verified.store(extent.checksum, std::memory_order_relaxed);
  if (!n) return fail(told(node, n.error()));
  return n;
}

Result<std::uint64_t> Engine::next_data(InodeId ino, std::uint64_t offset) {
  return seek_data_or_hole(ino, offset, true);
}

Result<std::uint64_t> Engine::next_hole(InodeId ino, std::uint64_t offset) {
  return seek_data_or_hole(ino, offset, false);
}

// Blobs ask their object. In small files, wherever they are, an aligned block of zeros is a hole: so the answer does not
// change when a file moves between homes; large members have none.
Result<std::uint64_t> Engine::seek_data_or_hole(InodeId ino, std::uint64_t offset, bool data) {
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  const ReadLock guard(found->mutex);
  const std::uint64_t size = found->inode.size;
  if (offset >= size) return fail(ENXIO);
  if (found->inode.home == Home::none) return data ? size : offset;
  if (found->inode.home == Home::blob) {
    CFFS_TRY(const auto object, homes_.object_of(*found));
    CFFS_TRY(const std::uint64_t at, data ? object->next_data(offset) : object->next_hole(offset));
    // A blob that was cut short ends before there: what is behind its end is no data, and nobody asks for it twice.
    return at < offset ? size : std::min(at, size);
  }
  // Of a large one each question would read all of it: it has no holes.
  constexpr std::uint64_t kLookedInto = 1u << 20;
  if (size > kLookedInto) return data ? offset : size;
  CFFS_TRY(const std::string content, homes_.load_small(*found));
  for (std::uint64_t at = offset; at < size; at = (at / kChunkBytes + 1) * kChunkBytes) {
    const std::string_view block =
        std::string_view(content).substr(at / kChunkBytes * kChunkBytes, kChunkBytes);
    const bool has_data = block.find_first_not_of('\0') != std::string_view::npos;
    if (has_data == data) return at;
  }
  return size;
}

}  // namespace cffs
