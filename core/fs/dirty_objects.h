// Objects with bytes that are not durable yet. A commit syncs them before the table's log, and LevelDB's environment
// before a table file: rows follow the data that they name. An fsync syncs the log, but of the objects only its file's:
// the rows of other files may be durable before their data, and recovery then gives them the size that their objects have.
#pragma once

#include <atomic>
#include <set>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class DirtyObjects {
 public:
  // Call after the write. An object noted in the current epoch() need not be noted again.
  void note(std::shared_ptr<Object> object) {
    const MutexLock guard(mutex_);
    objects_.insert(std::move(object));
  }
  std::uint64_t epoch() const { return epoch_.load(); }
  // Syncs all noted before the call. The first failure is returned; the rest is tried nevertheless. After a failure every call
  // fails: what was noted then is not known to be durable, and asked again the kernel might say it is.
  Status sync_all() {
    const MutexLock one_at_a_time(sync_mutex_);  // a second caller returns when its objects are durable
    std::set<std::shared_ptr<Object>> due;
    {
      const MutexLock guard(mutex_);
      due.swap(objects_);
      epoch_.fetch_add(1);
    }
    for (const auto& object : due) {
      if (Status done = object->sync(); !done && result_) result_ = std::move(done);
    }
    return result_;
  }

 private:
  Mutex sync_mutex_;  // before mutex_
  Status result_ CFFS_GUARDED_BY(sync_mutex_);
  Mutex mutex_;  // leaf
  std::set<std::shared_ptr<Object>> objects_ CFFS_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace cffs
