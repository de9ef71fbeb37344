// Keeps the most recently used objects of one store open, so that reading a subfile costs no open().
//
// Bounded by count: descriptors are scarce. A handle handed out stays valid after it left the cache.
//
// Names come back: a file's blob may go and another one take its number. Who opened the old one meanwhile may have it, but the cache
// must not, or what is written for the new one ends in an object without a name. So names go and come through here, and a handle
// is kept only where nothing of its shard went or came while it was opened.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class ObjectCache {
 public:
  // What is kept of an object that was opened, and given out: it, or another that stands for it. Not of one that was created.
  using Wrap =
      std::function<Result<std::shared_ptr<Object>>(std::shared_ptr<Object>, const std::string& name)>;
  ObjectCache(ObjectStore& store, std::size_t capacity, Wrap wrap = {});

  Result<std::shared_ptr<Object>> open(const std::string& name);
  Result<std::shared_ptr<Object>> create(const std::string& name, ObjectStore::Create how);
  // The name goes; handles stay good. ENOENT is success: a crash may have come between object and row.
  Status remove(const std::string& name);
  // Forgets the handle, and what is being opened right now: for who has just moved the object to another name.
  void drop(const std::string& name);
  // Forgets the handles that nobody else has; returns how many.
  std::size_t close_idle();

 private:
  struct Shard {
    using Recent = std::list<std::pair<std::string, std::shared_ptr<Object>>>;
    Mutex mutex;
    std::uint64_t changes CFFS_GUARDED_BY(mutex) = 0;  // names that came or went
    Recent recent CFFS_GUARDED_BY(mutex);              // front: used last
    std::unordered_map<std::string, Recent::iterator> by_name CFFS_GUARDED_BY(mutex);
  };
  static constexpr std::size_t kShards = 16;
  void insert(Shard& shard, const std::string& name, std::shared_ptr<Object> object,
              std::shared_ptr<Object>& evicted) CFFS_REQUIRES(shard.mutex);
  Shard& shard_of(const std::string& name) { return shards_[std::hash<std::string>{}(name) % kShards]; }

  ObjectStore& store_;
  const std::size_t capacity_per_shard_;
  const Wrap wrap_;
  std::array<Shard, kShards> shards_;
};

}  // namespace cffs
