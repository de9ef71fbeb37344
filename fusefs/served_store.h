// The store that a mount serves, open: the engine, who moves data in the background, the jobs that regroup
// it, compact it, scrub it and back it up.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/backup/backup_job.h"
#include "core/follow/followed_file_system.h"
#include "core/inspect/scrub_job.h"
#include "core/object/object_store.h"
#include "core/reorganise/compact_job.h"
#include "core/reorganise/regroup_jobs.h"
#include "fusefs/mount_options.h"

namespace cffs {

class ServedStore {
 public:
  using Log = std::function<void(const std::string&)>;

  // Refuses a store that is damaged or in use, a plan that is of another tree, options that make no sense. A plan given
  // by a file becomes the store's own. Waits, at most a minute and while `awaited` says so, for a daemon that is about to
  // let go of the store.
  static Result<std::unique_ptr<ServedStore>> open(const std::string& directory, const MountOptions& options,
                                                   const Log& log, const std::function<bool()>& awaited);
  // Everything is durable and the store free for the next user when it returns.
  Status close();

  ObjectStore& objects() { return *objects_; }
  FileSystem& fs() { return *fs_; }
  FollowedFileSystem* followed() { return followed_; }  // what fs() is where the mount follows; else null
  Reorganiser& reorganiser() { return *reorganiser_; }
  RegroupJobs& regroup_jobs() { return *regroup_jobs_; }
  CompactJob& compact_job() { return *compact_job_; }
  ScrubJob& scrub_job() { return *scrub_job_; }
  BackupJob& backup_job() { return *backup_job_; }

 private:
  ServedStore() = default;
  Status check_plan(const MountOptions& options);
  Status group_by(const PolicyChoice& choice, const Log& log);

  std::unique_ptr<ObjectStore> objects_;
  std::unique_ptr<FileSystem> fs_;
  FollowedFileSystem* followed_ = nullptr;
  std::unique_ptr<Reorganiser> reorganiser_;
  std::unique_ptr<RegroupJobs> regroup_jobs_;
  std::unique_ptr<CompactJob> compact_job_;
  std::unique_ptr<ScrubJob> scrub_job_;
  std::unique_ptr<BackupJob> backup_job_;
};

}  // namespace cffs
