// Who asks a mount for what, while somebody watches (`cffs top`): by process and by directory, since that viewer asked last.
//
// Nobody watching, a request pays a look at a flag. Else it puts a sample into a ring, and a thread of this class does the rest a few
// milliseconds later: finds the directory, and counts in each viewer's window. Where the ring is full the sample is counted as missed: no
// request ever waits for that thread. Which process a thread of a program belongs to is asked of /proc before the request is answered,
// because its caller may be gone afterwards; again after a tenth of a second, as programs that begin another change their name.
//
// Memory: a ring, and for each of at most kMostWindows viewers kMostKept processes and as many directories (core/live/heavy_hitters.h).
// A window ends when its viewer has not asked for as long as it said it would not.
//
// Nothing here touches the mount. Thread safety: everything.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"
#include "core/live/heavy_hitters.h"
#include "fusefs/request_counts.h"

namespace cffs {

// What one of them asked for.
struct Load {
  std::uint64_t ns = 0, errors = 0;
  std::uint64_t lookups = 0, listings = 0, reads = 0, writes = 0, changes = 0, attributes = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
};

class LoadWindows {
 public:
  static constexpr std::size_t kMostWindows = 4, kMostKept = 1024, kMostTold = 100;
  static constexpr std::int64_t kLongestMs = 3'600'000;

  explicit LoadWindows(FileSystem& fs) : fs_(fs) {}
  ~LoadWindows() { end(); }
  LoadWindows(const LoadWindows&) = delete;
  LoadWindows& operator=(const LoadWindows&) = delete;
  // Nobody can watch any more.
  void end();

  // What viewer `id` has to be told since it asked last, as JSON of at most `most` bytes, and a new window for it; the first time there
  // is nothing in it. It will ask again within `keep_ms`; 0: it will not, and its window goes. EBUSY: there are kMostWindows others.
  // EAGAIN: there is no thread to be had.
  Result<std::string> take(const std::string& id, std::int64_t keep_ms, std::size_t most);

  // --- of a request: see above ---
  bool open() const { return open_.load(std::memory_order_relaxed); }
  // Before it is answered: which directory it is about, where that is known, and there is memory to find out.
  InodeId meet(const ServedRequest& request) noexcept;
  // Behind that.
  void note(const ServedRequest& request, InodeId directory, std::uint64_t ns, bool failed,
            std::uint64_t bytes);

 private:
  using Steady = std::chrono::steady_clock;
  struct Process {
    pid_t pid = 0;
    std::string name;
    Steady::time_point seen;
  };
  struct Sample {
    ServedRequest request;
    InodeId directory;
    std::uint64_t ns = 0, bytes = 0;
    pid_t pid = 0;
    bool failed = false;
  };
  struct OfProcess {
    Load load;
    std::string name;
  };
  struct OfDirectory {
    Load load;
    std::string path;
  };
  struct Window {
    Steady::time_point began, until;
    std::uint64_t requests = 0, missed = 0;
    HeavyHitters<pid_t, OfProcess> processes{kMostKept};
    HeavyHitters<InodeId, OfDirectory> directories{kMostKept};
  };
  static constexpr std::size_t kRing = 16'384, kMostProcesses = 4096;

  void run();
  InodeId recognised(const ServedRequest& request) CFFS_EXCLUDES(mutex_);
  // Counts what requests have left.
  void drain() CFFS_EXCLUDES(drain_mutex_, windows_mutex_, mutex_);
  void count(const std::vector<Sample>& samples, std::uint64_t missed) CFFS_EXCLUDES(windows_mutex_);
  InodeId directory_of(const ServedRequest& request) const;
  std::string path_of(InodeId directory) const;
  void forget_old() CFFS_REQUIRES(windows_mutex_);
  void set_open(bool open) CFFS_EXCLUDES(mutex_);

  FileSystem& fs_;
  std::atomic<bool> open_{false};
  Mutex mutex_;  // leaf, held for no longer than a copy: what requests leave
  CondVar wake_;
  bool ending_ CFFS_GUARDED_BY(mutex_) = false;
  std::vector<Sample> ring_ CFFS_GUARDED_BY(mutex_);
  std::vector<Sample> drained_ CFFS_GUARDED_BY(drain_mutex_);  // takes turns with the ring
  std::uint64_t missed_ CFFS_GUARDED_BY(mutex_) = 0;
  std::unordered_map<pid_t, Process> processes_ CFFS_GUARDED_BY(mutex_);  // by thread
  Mutex drain_mutex_;    // before windows_mutex_: who has drained knows that all is counted
  Mutex windows_mutex_;  // before mutex_; of requests only those that ask for a window take it
  std::map<std::string, Window> windows_ CFFS_GUARDED_BY(windows_mutex_);
  std::thread thread_ CFFS_GUARDED_BY(windows_mutex_);
};

}  // namespace cffs
