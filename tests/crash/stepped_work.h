// LevelDB's own work, done when a test says: so that a run is the same each time. A piece runs on a thread of its own while the
// thread that asked for it waits, never beside it.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "core/base/mutex.h"

namespace cffs::test {

class SteppedWork {
 public:
  // Work is due at the nth append to a log after it was asked for (0: the next).
  explicit SteppedWork(std::uint64_t delay) : delay_(delay) {}
  ~SteppedWork() { set_free(); }
  SteppedWork(const SteppedWork&) = delete;
  SteppedWork& operator=(const SteppedWork&) = delete;

  // For FileSystemOptions::run_later.
  void add(std::function<void()> piece);
  // For CrashStore::on_change: the moment when LevelDB holds no lock of its own is when it appends to its log.
  void before_change(const std::string& what);
  // All that is due or not, to the end.
  void run_all();
  // From now on as it comes; for who closes a database, which waits for its work.
  void set_free();
  bool is_own_thread() const { return std::this_thread::get_id() == own_thread_.load(); }
  std::uint64_t pieces() const { return pieces_.load(); }

 private:
  void run_one(std::function<void()> piece);

  const std::uint64_t delay_;
  std::atomic<std::thread::id> own_thread_{};
  std::atomic<std::uint64_t> pieces_{0};
  Mutex mutex_;
  bool free_ CFFS_GUARDED_BY(mutex_) = false;
  std::uint64_t appends_ CFFS_GUARDED_BY(mutex_) = 0;  // since the oldest piece was added
  std::deque<std::function<void()>> due_ CFFS_GUARDED_BY(mutex_);
  std::deque<std::thread> freed_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs::test
