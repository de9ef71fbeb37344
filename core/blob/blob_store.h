// Blobs: one object for each large file, at blobs/J/I with J = I / 10000 (TableFS §3.1).
#pragma once

#include <atomic>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/ids.h"
#include "core/object/object_cache.h"

namespace cffs {

class BlobStore {
 public:
  BlobStore(ObjectStore& store, std::size_t open_objects) : open_(store, open_objects) {}

  static std::string object_name(InodeId ino) {
    return "blobs/" + std::to_string(ino.value / 10000) + "/" + std::to_string(ino.value);
  }

  // Whose an object is; nullopt: none that was named here.
  static std::optional<InodeId> inode_of(const std::string& object) {
    InodeId ino;
    std::from_chars(object.data() + object.rfind('/') + 1, object.data() + object.size(), ino.value);
    return object == object_name(ino) ? std::optional(ino) : std::nullopt;
  }

  // Empty, whatever was there.
  Result<std::shared_ptr<Object>> create(InodeId ino) {
    return open_.create(object_name(ino), ObjectStore::Create::truncate);
  }
  // Closes what is kept open and nobody uses; returns how many.
  std::size_t close_idle() { return open_.close_idle(); }
  Result<std::shared_ptr<Object>> open(InodeId ino) { return open_.open(object_name(ino)); }
  // Forgets its handle: for who has just moved it to another name.
  void drop(InodeId ino) { open_.drop(object_name(ino)); }
  // The name goes; handles stay good. ENOENT is success: a crash may have come between object and row.
  Status remove(InodeId ino) { return open_.remove(object_name(ino)); }
  // Somebody wrote so much to one of them, who tells it.
  void wrote(std::uint64_t bytes) { bytes_written_.fetch_add(bytes, std::memory_order_relaxed); }
  std::uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }

 private:
  ObjectCache open_;
  std::atomic<std::uint64_t> bytes_written_{0};
};

}  // namespace cffs
