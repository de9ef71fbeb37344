// A compaction of a store in use: one at a time, in a thread of its own, so that whoever asked can watch, and the root directory, whose
// attribute asks for it, is not held meanwhile.
#pragma once

#include <string>

#include "core/base/job_thread.h"
#include "core/base/mutex.h"
#include "core/base/work_step.h"
#include "core/reorganise/reorganiser.h"

namespace cffs {

class CompactJob {
 public:
  explicit CompactJob(Reorganiser& reorganiser) : reorganiser_(reorganiser) {}

  // Returns at once; where no thread is to be had, when it is done. EBUSY: one is under way.
  Status start();
  // {"state": "idle" | "running" | "done" | "stopped" | "failed", "error": ..., "progress": a step (core/base/work_step.h)}
  std::string status_json() const;

 private:
  JobThread::State run();

  Reorganiser& reorganiser_;
  mutable Mutex mutex_;  // rank 6
  WorkStep step_ CFFS_GUARDED_BY(mutex_);
  JobThread thread_{"a compaction"};  // destroyed first: it uses the others
};

}  // namespace cffs
