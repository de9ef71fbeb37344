// Reading a file, wherever its data is. The node is held shared, so a move between homes waits for readers
// and readers never see one.
#include <algorithm>
#include <cstring>

#include "core/fs/file_system.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

Result<std::size_t> read_blob(const Object& object, std::uint64_t offset, Bytes out) {
  CFFS_TRY(const auto cached, object.try_read_at(offset, out));
  if (cached) return *cached;
  announce_blocking();
  // Short where the object is shorter than the row says: after a power cut, the content it had before it
  // grew.
  return object.read_at(offset, out);
}

}  // namespace

Result<std::size_t> FileSystem::read(InodeId ino, std::uint64_t offset, Bytes out) {
  CFFS_TRY(const NodePtr found, node(ino));
  Node& node = *found;
  const std::shared_lock guard(node.mutex);
  const Inode& inode = node.inode;
  if (inode.is_directory()) return fail(EISDIR);
  if (offset >= inode.size || out.empty()) return std::size_t{0};
  out = out.first(std::min<std::uint64_t>(out.size(), inode.size - offset));

  if (node.orphan_bytes) {
    std::memcpy(out.data(), node.orphan_bytes->data() + offset, out.size());
    return out.size();
  }
  switch (inode.home) {
    case Home::none:
      std::fill(out.begin(), out.end(), std::byte{0});
      return out.size();
    case Home::inline_: {
      std::size_t done = 0;
      while (done < out.size()) {
        const std::uint64_t at = offset + done;
        const std::uint64_t within = at % kChunkBytes;
        const std::size_t wanted = std::min<std::uint64_t>(out.size() - done, kChunkBytes - within);
        CFFS_TRY(const auto chunk, table_->get(Key::data(ino, at / kChunkBytes)));
        const std::size_t stored = chunk && chunk->size() > within ? chunk->size() - within : 0;
        const std::size_t copied = std::min(stored, wanted);
        if (copied > 0) std::memcpy(out.data() + done, chunk->data() + within, copied);
        std::memset(out.data() + done + copied, 0, wanted - copied);
        done += wanted;
      }
      return done;
    }
    case Home::composite: {
      CFFS_TRY(const auto object, object_of(inode, &node));
      const std::uint64_t known_good = node.verified.load(std::memory_order_relaxed);
      const bool verify = known_good != inode.extent.checksum || known_good == 0;
      auto n = CompositeStore::read(*object, inode.extent, offset, out, verify);
      if (n && verify) node.verified.store(inode.extent.checksum, std::memory_order_relaxed);
      if (!n && n.error().kind == ErrorKind::corruption) {
        log("inode " + std::to_string(ino.value) + " (" + node.name + "): " + n.error().message());
      }
      return n;
    }
    case Home::blob: {
      CFFS_TRY(const auto object, object_of(inode, &node));
      return read_blob(*object, offset, out);
    }
  }
  return fail(Error::corruption("inode " + std::to_string(ino.value) + " has no known home"));
}

Result<std::uint64_t> FileSystem::next_data(InodeId ino, std::uint64_t offset) {
  return seek_data_or_hole(ino, offset, true);
}

Result<std::uint64_t> FileSystem::next_hole(InodeId ino, std::uint64_t offset) {
  return seek_data_or_hole(ino, offset, false);
}

// Blobs ask their object. In small files, wherever they are, an aligned block of zeros is a hole: so the answer does not
// change when a file moves between homes.
Result<std::uint64_t> FileSystem::seek_data_or_hole(InodeId ino, std::uint64_t offset, bool data) {
  CFFS_TRY(const NodePtr found, node(ino));
  const std::shared_lock guard(found->mutex);
  const std::uint64_t size = found->inode.size;
  if (offset >= size) return fail(ENXIO);
  if (found->inode.home == Home::none) return data ? size : offset;
  if (found->inode.home == Home::blob) {
    CFFS_TRY(const auto object, object_of(found->inode, found.get()));
    CFFS_TRY(const std::uint64_t at, data ? object->next_data(offset) : object->next_hole(offset));
    return std::min(at, size);
  }
  CFFS_TRY(const std::string content, load_small(found->inode, found.get()));
  for (std::uint64_t at = offset; at < size; at = (at / kChunkBytes + 1) * kChunkBytes) {
    const std::string_view block =
        std::string_view(content).substr(at / kChunkBytes * kChunkBytes, kChunkBytes);
    const bool has_data = block.find_first_not_of('\0') != std::string_view::npos;
    if (has_data == data) return at;
  }
  return size;
}

}  // namespace cffs
