// A backup of a mounted store: one at a time, in a thread of its own, which ends when it is told to or the file system closes.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/backup/backup.h"
#include "core/base/mutex.h"

namespace cffs {

class BackupJob {
 public:
  explicit BackupJob(FileSystem& fs) : fs_(fs) {}
  ~BackupJob() { stop(); }
  BackupJob(const BackupJob&) = delete;
  BackupJob& operator=(const BackupJob&) = delete;

  // What `cffs backup` asks of a daemon: {"place": absolute path, "rate": bytes per second}, or {"stop": true}. Returns at once.
  // EBUSY: one is under way; EAGAIN: no thread is to be had.
  Status request(const std::string& json);
  void stop();
  // {"state": "idle" | "running" | "done" | "stopped" | "failed", "error": ..., "place": ..., the counts, "damages": [the first
  // hundred sentences]}
  std::string status_json() const;

 private:
  Status start(const std::string& place, std::uint64_t bytes_per_second);
  void run(const std::string& path, std::uint64_t bytes_per_second);

  FileSystem& fs_;
  Mutex control_;  // one start or stop at a time; before mutex_
  std::thread thread_ CFFS_GUARDED_BY(control_);
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;  // rank 6
  std::string state_ CFFS_GUARDED_BY(mutex_) = "idle";
  std::string error_ CFFS_GUARDED_BY(mutex_);
  std::string place_ CFFS_GUARDED_BY(mutex_);
  std::int64_t began_ms_ CFFS_GUARDED_BY(mutex_) = 0;
  std::int64_t took_ms_ CFFS_GUARDED_BY(mutex_) = 0;
  BackupProgress progress_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::string> damages_ CFFS_GUARDED_BY(mutex_);
};

// A whole backup into the directory `place`, an absolute path.
Result<BackupProgress> back_up(FileSystem& fs, const std::string& place, BackupOptions options);

}  // namespace cffs
