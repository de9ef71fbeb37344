// Objects with bytes that are not durable yet. Every sync of the table syncs them first: a row must never
// become durable before the data it names ("ordered mode").
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "core/object/object_store.h"

namespace cffs {

class DirtyObjects {
 public:
  // Call after the write. An object noted in the current epoch() need not be noted again.
  void note(std::shared_ptr<Object> object) {
    const std::lock_guard guard(mutex_);
    objects_.insert(std::move(object));
  }
  std::uint64_t epoch() const { return epoch_.load(); }
  // Syncs all noted before the call. The first failure is returned; the rest is tried nevertheless.
  Status sync_all() {
    const std::lock_guard one_at_a_time(sync_mutex_);  // a second caller returns when its objects are durable
    std::set<std::shared_ptr<Object>> due;
    {
      const std::lock_guard guard(mutex_);
      due.swap(objects_);
      epoch_.fetch_add(1);
    }
    Status result;
    for (const auto& object : due) {
      if (Status done = object->sync(); !done && result) result = std::move(done);
    }
    return result;
  }

 private:
  mutable std::mutex mutex_;
  std::mutex sync_mutex_;
  std::set<std::shared_ptr<Object>> objects_;
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace cffs
