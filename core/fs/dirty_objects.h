// Objects with bytes that are not durable yet. A commit syncs them before the table's log, and LevelDB's environment
// before a table file: rows follow the data that they name. An fsync syncs the log, but of the objects only its file's:
// the rows of other files may be durable before their data, and recovery then gives them the size that their objects have.
//
// The handle that wrote is kept open until it has synced: Linux reports a failed writeback to every descriptor that was open
// then, and to the first one opened later only if nobody was told and the inode is still in memory. Descriptors being
// scarce, there is a bound: above it the oldest are synced early, which they would be soon anyway.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/base/undisturbed.h"
#include "core/object/object_store.h"

namespace cffs {

class DirtyObjects {
 public:
  // `most`: objects that are kept for the next commit, each a descriptor.
  explicit DirtyObjects(std::size_t most) : most_(std::max<std::size_t>(1, most)) {}

  // Call after the write, before any row says what was written; `ino`: whose blob it is. An object noted in the current epoch()
  // need not be noted again. May exceed the bound: call limit() once no lock is held.
  void note(InodeId ino, std::shared_ptr<Object> object) {
    const MutexLock guard(mutex_);
    if (!known_.contains(object)) {
      auto& behind = behind_[ino];  // where memory runs out behind this, it is empty
      behind.reserve(behind.size() + 1);
      objects_.push_back({ino, object});  // first: what is known, but in no list, would never be synced
      behind.push_back(object);
      known_.insert(std::move(object));
    }
    count_.store(objects_.size(), std::memory_order_relaxed);
  }
  // Whether something that was noted of the file is not durable yet.
  bool holds(InodeId ino) const {
    const MutexLock guard(mutex_);
    const auto it = behind_.find(ino);
    return it != behind_.end() && !it->second.empty();
  }
  // Syncs what was noted of the file and is not durable yet, but for the object that the caller has synced: he may have opened it when the
  // failure of another handle had been told already, and hears nothing of it. Fails, too, where anything noted has failed before.
  Status sync_of(InodeId ino, const Object* but) {
    std::vector<std::shared_ptr<Object>> objects;
    {
      const MutexLock guard(mutex_);
      if (!result_) return result_;
      const auto it = behind_.find(ino);
      if (it != behind_.end()) objects = it->second;
    }
    for (const auto& object : objects) {
      if (object.get() != but) CFFS_TRY_VOID(object->sync());
    }
    return {};
  }
  // True once each time that half of the bound is reached: time for somebody whom nobody waits for to sync them.
  bool begins_to_fill() { return many() && !filling_.exchange(true); }
  // More than half of the bound.
  bool many() const { return count_.load(std::memory_order_relaxed) > most_ / 2; }
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::uint64_t epoch() const { return epoch_.load(); }
  // Syncs all noted before the call. The first failure is returned; the rest is tried nevertheless. After a failure every call
  // fails: what was noted then is not known to be durable, and asked again the kernel might say it is.
  Status sync_all() {
    const MutexLock one_at_a_time(sync_mutex_);  // a second caller returns when its objects are durable
    return sync_oldest(~std::size_t{0});
  }
  // Syncs the older half of them where there are too many. Fails as sync_all() does.
  Status limit() {
    if (count_.load(std::memory_order_relaxed) <= most_) return {};
    const MutexLock one_at_a_time(sync_mutex_);
    if (count_.load(std::memory_order_relaxed) <= most_) return result();  // somebody else just did
    return sync_oldest((most_ + 1) / 2);
  }

 private:
  struct Noted {
    InodeId ino;
    std::shared_ptr<Object> object;
  };

  Status sync_oldest(std::size_t most) CFFS_REQUIRES(sync_mutex_) {
    const Undisturbed or_objects_would_be_lost;
    std::deque<Noted> due;
    {
      const MutexLock guard(mutex_);
      for (; !objects_.empty() && due.size() < most; objects_.pop_front()) {
        known_.erase(objects_.front().object);
        due.push_back(std::move(objects_.front()));
      }
      count_.store(objects_.size(), std::memory_order_relaxed);
      filling_.store(false);
      // Who writes to one of them from now on notes it again.
      epoch_.fetch_add(1);
    }
    // All are on their way to the medium before one is waited for: the file system below then allocates them together, and one
    // commit of its journal has them all.
    if (due.size() > 1) {
      for (const Noted& noted : due) noted.object->begin_writeback();
    }
    for (; !due.empty(); due.pop_front()) {
      Status done = due.front().object->sync();
      const MutexLock guard(mutex_);
      if (done) {
        forget(due.front());
      } else if (result_) {
        result_ = std::move(done);
      }
    }
    return result();
  }
  void forget(const Noted& noted) CFFS_REQUIRES(mutex_) {
    const auto it = behind_.find(noted.ino);
    auto& objects = it->second;
    objects.erase(std::find(objects.begin(), objects.end(), noted.object));
    if (objects.empty()) behind_.erase(it);
  }
  Status result() const {
    const MutexLock guard(mutex_);
    return result_;
  }

  const std::size_t most_;
  Mutex sync_mutex_;                                                 // before mutex_
  mutable Mutex mutex_;                                              // leaf
  Status result_ CFFS_GUARDED_BY(mutex_);                            // the first failure
  std::deque<Noted> objects_ CFFS_GUARDED_BY(mutex_);                // oldest first
  std::set<std::shared_ptr<Object>> known_ CFFS_GUARDED_BY(mutex_);  // the same
  // Objects of each file that are noted, or being synced, or could not be.
  std::unordered_map<InodeId, std::vector<std::shared_ptr<Object>>> behind_ CFFS_GUARDED_BY(mutex_);
  std::atomic<bool> filling_{false};
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace cffs
