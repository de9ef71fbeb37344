// A scrub of a store in use: one at a time, in a thread of its own, which ends between two pieces when it is told to or the file
// system closes.
#pragma once

#include <string>
#include <vector>

#include "core/base/job_thread.h"
#include "core/base/mutex.h"
#include "core/inspect/scrub.h"

namespace cffs {

class ScrubJob {
 public:
  explicit ScrubJob(FileSystem& fs) : fs_(fs) {}

  // What `cffs scrub` asks of a daemon: {"rate": bytes per second, "anew": bool}, or {"stop": true}. Returns at once. EBUSY: one is under way;
  // EAGAIN: no thread is to be had.
  Status request(const std::string& json);
  void stop() { thread_.stop(); }
  // {"state": "idle" | "running" | "done" | "stopped" | "failed", "error": ..., the counts, "damages": [the first hundred sentences]}
  std::string status_json() const;

 private:
  Status start(std::uint64_t bytes_per_second, bool anew);
  JobThread::State run(std::uint64_t bytes_per_second, bool anew);

  FileSystem& fs_;
  mutable Mutex mutex_;  // rank 6
  ScrubProgress progress_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::string> damages_ CFFS_GUARDED_BY(mutex_);
  JobThread thread_{"a scrub"};  // destroyed first: it uses the others
};

}  // namespace cffs
