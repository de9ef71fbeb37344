// A backup of a mounted store: one at a time, in a thread of its own, which ends when it is told to or the file system closes.
#pragma once

#include <string>
#include <vector>

#include "core/backup/backup.h"
#include "core/base/job_thread.h"
#include "core/base/mutex.h"

namespace cffs {

class BackupJob {
 public:
  // Where damages are told: the store's log has all, and the status, which a mount's attribute has room for, the first hundred; or,
  // of who shows the status himself, the status alone, and all.
  enum class Damages { logged, in_status };
  explicit BackupJob(FileSystem& fs, Damages damages = Damages::logged) : fs_(fs), told_(damages) {}

  // What `cffs backup` asks of a daemon: {"place": absolute path, "rate": bytes per second}, or {"stop": true}. Returns at once.
  // EBUSY: one is under way; EAGAIN: no thread is to be had.
  Status request(const std::string& json);
  void stop() { thread_.stop(); }
  // {"state": "idle" | "running" | "done" | "stopped" | "failed", "error": ..., "place": ..., the counts, "damages": [sentences]}
  std::string status_json() const;

 private:
  Status start(const std::string& place, std::uint64_t bytes_per_second);
  JobThread::State run(const std::string& path, std::uint64_t bytes_per_second);

  FileSystem& fs_;
  const Damages told_;
  mutable Mutex mutex_;  // rank 6
  std::string place_ CFFS_GUARDED_BY(mutex_);
  std::int64_t began_ms_ CFFS_GUARDED_BY(mutex_) = 0;
  std::int64_t took_ms_ CFFS_GUARDED_BY(mutex_) = 0;
  BackupProgress progress_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::string> damages_ CFFS_GUARDED_BY(mutex_);
  JobThread thread_{"a backup"};  // destroyed first: it uses the others
};

// A whole backup into the directory `place`, an absolute path.
Result<BackupProgress> back_up(FileSystem& fs, const std::string& place, BackupOptions options);

}  // namespace cffs
