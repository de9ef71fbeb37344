// The background work of a file system in use: consolidation of what became quiet, compaction of what became wasteful, the
// checksums of large files, and the catalogue.
//
// One pass at a time, in a thread of its own (start()) or in the caller's; whoever else moves files takes its turn
// (exclusively()). It is whom a user who is short of room has asked for it (FileSystem::on_shortage(); of several, the last that was
// made). It must be gone before the file system is closed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <thread>

#include "core/base/mutex.h"
#include "core/base/work_step.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/composite_filler.h"
#include "core/reorganise/punching.h"
#include "core/reorganise/sealing.h"

namespace cffs {

struct CompactOptions {
  WorkTeller on_progress;                             // from the calling thread; may be null
  std::function<bool()> go_on = [] { return true; };  // asked between two composites
  void tell(const WorkStep& step) const {
    if (on_progress) on_progress(step);
  }
};

class Reorganiser {
 public:
  // A directory that nobody has written to for `quiet_ms` may be consolidated.
  explicit Reorganiser(FileSystem& fs, std::int64_t quiet_ms = kQuietMs)
      : fs_(fs), quiet_ms_(quiet_ms), filler_(fs), punching_(fs), sealing_(fs), cataloguing_(fs, quiet_ms) {
    fs_.on_shortage([this](std::uint64_t bytes) { return give_back(bytes); });
  }
  ~Reorganiser() { stop(); }
  Reorganiser(const Reorganiser&) = delete;
  Reorganiser& operator=(const Reorganiser&) = delete;

  static constexpr std::int64_t kQuietMs = 2000;
  // What compaction in the background reads and writes in a second, so that it does not stand in anybody's way. Bytes.
  static constexpr std::uint64_t kCompactionRate = 64u << 20;
  // Erased rows that are worth rewriting the table for. Bytes.
  static constexpr std::uint64_t kGarbageMin = 32u << 20;
  // When a composite for which something was short is tried again.
  static constexpr std::int64_t kRetryMs = 5'000;

  // Begins passes of its own, every quarter of quiet_ms. EAGAIN: there is no thread to be had.
  Status start();
  void stop();

  FileSystem& fs() { return fs_; }
  // Consolidates every staged file now, quiet or not, compacts what has become wasteful, and seals large files.
  Status consolidate_now() { return consolidate_all({}); }
  // The same, and compacts every composite that is half freed, whenever it became so. Each is whole at any time: a stop costs nothing,
  // and another call does the rest.
  Status compact_now(const CompactOptions& options = {});
  // Compacts what has become wasteful since the last pass.
  void compact_noted();
  // The composite that is being filled is full enough: it is packed, as the store wants it.
  void leave_tail() CFFS_EXCLUDES(work_mutex_);
  // Where the medium is nearly full: punches what is freed in all composites, some at a time, and at most for a twentieth of
  // the time.
  void punch_where_full();
  // So many bytes of what was freed in composites, or a little more, become the medium's now; a pass that is under way makes way.
  // False: there were none to be had.
  bool give_back(std::uint64_t bytes) CFFS_EXCLUDES(work_mutex_);
  // Runs `work` while no pass is under way.
  template <typename Work>
  auto exclusively(Work work) {
    const MutexLock one_at_a_time(work_mutex_);
    return work();
  }

 private:
  void run();
  Status pass(bool all, const CompactOptions& options = {}) CFFS_EXCLUDES(work_mutex_);
  // `stopped`: it ends early, with EINTR.
  Status consolidate(bool all, const std::function<bool()>& stopped) CFFS_REQUIRES(work_mutex_);
  bool is_nearly_full() const;
  bool stopped_short(const Status& done) const;
  bool found_room(const Status& done) CFFS_EXCLUDES(work_mutex_);
  // Has the namespace say which composites are freed in part, where that is not known and it is time to. False: it is not time.
  bool find_freed() CFFS_REQUIRES(work_mutex_);
  // No punching for a while after work that began then.
  void rest_from_punching(std::int64_t began_ms) CFFS_REQUIRES(work_mutex_);
  // Of those that are freed in part, some; nullopt: there is none. `began_ms`: of the work of which this is a turn, which tries each once.
  std::optional<Punching::Done> punch_some(std::uint64_t bytes, std::int64_t began_ms)
      CFFS_REQUIRES(work_mutex_);
  std::int64_t quiet_before_ns(bool all) const;
  bool stopping() const { return stopping_; }
  // 0: as fast as it goes. Others that move files take their turns between two composites.
  void compact_noted_at(std::uint64_t bytes_per_second, const CompactOptions& options = {})
      CFFS_EXCLUDES(work_mutex_);
  Status consolidate_all(const CompactOptions& options) CFFS_EXCLUDES(work_mutex_);
  // Returns the bytes read and written.
  std::uint64_t compact(CompositeId id) CFFS_EXCLUDES(work_mutex_);
  Result<std::vector<CompositeId>> find_wasteful() CFFS_EXCLUDES(work_mutex_);

  FileSystem& fs_;
  const std::int64_t quiet_ms_;
  Mutex work_mutex_;  // rank 0: outermost of all locks
  CompositeFiller filler_ CFFS_GUARDED_BY(work_mutex_);
  Punching punching_ CFFS_GUARDED_BY(work_mutex_);
  std::int64_t punch_not_before_ms_ CFFS_GUARDED_BY(work_mutex_) = 0;
  std::string compaction_waits_for_ CFFS_GUARDED_BY(work_mutex_);  // as it was last logged
  Sealing sealing_;
  Cataloguing cataloguing_;  // the thread's

  Mutex mutex_;  // rank 6
  CondVar wake_;
  std::atomic<bool> stopping_{false};  // changed under the mutex
  // A pass under way looks at it: stopping, or somebody is short of room.
  std::atomic<bool> leave_early_{false};
  std::thread thread_;
};

}  // namespace cffs
