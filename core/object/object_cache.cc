#include "core/object/object_cache.h"

#include <algorithm>
#include <utility>

namespace cffs {

ObjectCache::ObjectCache(ObjectStore& store, std::size_t capacity, Wrap wrap)
    : store_(store),
      capacity_per_shard_(std::max<std::size_t>(1, capacity / kShards)),
      wrap_(std::move(wrap)) {}

Result<std::shared_ptr<Object>> ObjectCache::open(const std::string& name) {
  Shard& shard = shard_of(name);
  std::uint64_t changes = 0;
  {
    const MutexLock guard(shard.mutex);
    const auto it = shard.by_name.find(name);
    if (it != shard.by_name.end()) {
      shard.recent.splice(shard.recent.begin(), shard.recent, it->second);
      return it->second->second;
    }
    changes = shard.changes;
  }
  // Opened outside the lock; two threads may both open, the first one's is kept and both handles are good.
  CFFS_TRY(auto object, store_.open(name));
  if (wrap_) {
    CFFS_TRY(object, wrap_(std::move(object), name));
  }
  std::shared_ptr<Object> evicted;  // closed after the lock is released
  const MutexLock guard(shard.mutex);
  if (shard.changes == changes && !shard.by_name.contains(name)) insert(shard, name, object, evicted);
  return object;
}

Result<std::shared_ptr<Object>> ObjectCache::create(const std::string& name, ObjectStore::Create how) {
  CFFS_TRY(auto object, store_.create(name, how));
  Shard& shard = shard_of(name);
  std::shared_ptr<Object> replaced, evicted;
  const MutexLock guard(shard.mutex);
  ++shard.changes;
  if (const auto it = shard.by_name.find(name); it != shard.by_name.end()) {
    replaced = std::exchange(it->second->second, object);
  } else {
    insert(shard, name, object, evicted);
  }
  return object;
}

// In this order: who opens it in between finds nothing, or is told apart by the change.
Status ObjectCache::remove(const std::string& name) {
  const Status done = store_.remove(name);
  drop(name);
  if (!done && done.error().errno_value != ENOENT) return done;
  return {};
}

void ObjectCache::insert(Shard& shard, const std::string& name, std::shared_ptr<Object> object,
                         std::shared_ptr<Object>& evicted) {
  shard.recent.emplace_front(name, std::move(object));
  shard.by_name[name] = shard.recent.begin();
  if (shard.recent.size() <= capacity_per_shard_) return;
  evicted = std::move(shard.recent.back().second);
  shard.by_name.erase(shard.recent.back().first);
  shard.recent.pop_back();
}

std::size_t ObjectCache::close_idle() {
  std::size_t closed = 0;
  for (Shard& shard : shards_) {
    Shard::Recent idle;  // closed after the lock is released
    const MutexLock guard(shard.mutex);
    for (auto it = shard.recent.begin(); it != shard.recent.end();) {
      const auto next = std::next(it);
      if (it->second.use_count() == 1) {
        shard.by_name.erase(it->first);
        idle.splice(idle.begin(), shard.recent, it);
        ++closed;
      }
      it = next;
    }
  }
  return closed;
}

void ObjectCache::drop(const std::string& name) {
  std::shared_ptr<Object> dropped;
  Shard& shard = shard_of(name);
  const MutexLock guard(shard.mutex);
  ++shard.changes;
  const auto it = shard.by_name.find(name);
  if (it == shard.by_name.end()) return;
  dropped = std::move(it->second->second);
  shard.recent.erase(it->second);
  shard.by_name.erase(it);
}

}  // namespace cffs
