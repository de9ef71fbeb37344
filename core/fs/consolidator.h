// Remembers which directories hold staged files and which composites are half empty, and has Relocation deal
// with them in the background.
//
// A directory is remembered in memory and by a staged_directory row, so a crash forgets none. It is looked at
// once it has been quiet for quiet_ms, or has been waiting ten times as long. Threads: note*() from anywhere,
// on hot paths: the first note of a directory takes a leaf mutex, later ones store one time stamp.
#pragma once

#include <condition_variable>
#include <map>
#include <set>
#include <thread>

#include "core/fs/relocation.h"

namespace cffs {

class Consolidator {
 public:
  explicit Consolidator(FileSystem& fs) : fs_(fs), relocation_(fs) {}
  ~Consolidator() { stop(); }

  void start();
  void stop();

  // A file below this directory is staged; the row that says so joins the batch.
  void note(Batch& batch, Node& directory);
  void note_wasteful(CompositeId id);
  // Found at open: noted before a crash or a clean end.
  void remember(InodeId directory);
  // One pass, in the caller's thread. `all`: quiet or not.
  Status run_once(bool all);
  // Rewrites the composites that have become wasteful.
  void compact_wasteful();
  // Runs `work` while no pass is under way.
  template <typename Work>
  auto exclusively(Work work) {
    const std::lock_guard one_at_a_time(work_mutex_);
    return work();
  }

 private:
  void run();
  std::vector<InodeId> due(bool all);
  void compact_noted();
  Status forget_marks(const std::vector<InodeId>& done);

  FileSystem& fs_;
  Relocation relocation_;
  std::mutex work_mutex_;                        // one pass at a time; outermost of all locks
  std::mutex mutex_;                             // leaf: the sets below
  std::map<InodeId, std::int64_t> directories_;  // since when they wait, steady ms
  std::set<CompositeId> wasteful_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cffs
