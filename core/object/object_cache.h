// Keeps the most recently used objects of one store open, so that reading a subfile costs no open().
//
// Bounded by count: descriptors are scarce. A handle handed out stays valid after it left the cache.
#pragma once

#include <array>
#include <list>
#include <string>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class ObjectCache {
 public:
  ObjectCache(ObjectStore& store, std::size_t capacity);

  Result<std::shared_ptr<Object>> open(const std::string& name);
  void insert(const std::string& name, std::shared_ptr<Object> object);
  // Forgets the handle; the object itself is not touched.
  void drop(const std::string& name);
  // Forgets the handles that nobody else has; returns how many.
  std::size_t close_idle();

 private:
  struct Shard {
    using Recent = std::list<std::pair<std::string, std::shared_ptr<Object>>>;
    Mutex mutex;
    Recent recent CFFS_GUARDED_BY(mutex);  // front: used last
    std::unordered_map<std::string, Recent::iterator> by_name CFFS_GUARDED_BY(mutex);
  };
  static constexpr std::size_t kShards = 16;
  Shard& shard_of(const std::string& name) { return shards_[std::hash<std::string>{}(name) % kShards]; }

  ObjectStore& store_;
  const std::size_t capacity_per_shard_;
  std::array<Shard, kShards> shards_;
};

}  // namespace cffs
