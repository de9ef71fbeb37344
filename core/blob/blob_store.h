// Blobs: one object for each large file, at blobs/J/I with J = I / 10000 (TableFS §3.1).
#pragma once

#include "core/base/ids.h"
#include "core/object/object_cache.h"

namespace cffs {

class BlobStore {
 public:
  BlobStore(ObjectStore& store, std::size_t open_objects) : store_(store), open_(store, open_objects) {}

  static std::string object_name(InodeId ino) {
    return "blobs/" + std::to_string(ino.value / 10000) + "/" + std::to_string(ino.value);
  }

  // Empty, whatever was there.
  Result<std::shared_ptr<Object>> create(InodeId ino) {
    const std::string name = object_name(ino);
    CFFS_TRY(auto object, store_.create(name, ObjectStore::Create::truncate));
    open_.insert(name, object);
    return object;
  }
  // Closes what is kept open and nobody uses; returns how many.
  std::size_t close_idle() { return open_.close_idle(); }
  Result<std::shared_ptr<Object>> open(InodeId ino) { return open_.open(object_name(ino)); }
  // Forgets its handle; the object itself is not touched.
  void drop(InodeId ino) { open_.drop(object_name(ino)); }
  // The name goes; handles stay good. ENOENT is success: a crash may have come between object and row.
  Status remove(InodeId ino) {
    const std::string name = object_name(ino);
    open_.drop(name);
    if (const Status done = store_.remove(name); !done && done.error().errno_value != ENOENT) {
      return fail(done.error());
    }
    return {};
  }

 private:
  ObjectStore& store_;
  ObjectCache open_;
};

}  // namespace cffs
