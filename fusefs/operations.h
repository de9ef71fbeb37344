// The low-level FUSE operations: decode, one call of the engine, reply. Implemented in operations_*.cc.
//
// Node ids are inode numbers, but for the root, which FUSE calls 1. The daemon owns the store alone, so the
// kernel may keep entries, negative entries and attributes for ever. OPEN, OPENDIR, FLUSH and CREATE answer
// ENOSYS on purpose, but where the mount follows another's (docs/FOLLOWING.md): the kernel then stops asking, and of a file's create, write and close what is ours to serve is LOOKUP,
// MKNOD, WRITE; two more the kernel asks for its own checks (docs/PERFORMANCE.md has the account).
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <atomic>
#include <functional>
#include <string>

#include "core/backup/backup_job.h"
#include "core/fs/file_system.h"
#include "core/inspect/scrub_job.h"
#include "core/object/object_store.h"
#include "core/reorganise/compact_job.h"
#include "core/reorganise/regroup_jobs.h"
#include "fusefs/attribute_receipts.h"
#include "fusefs/request_observer.h"

namespace cffs {

class FollowedFileSystem;
class LiveNumbers;
class LoadWindows;

// What the operations need; the session's user data.
struct MountContext {
  FileSystem& fs;
  Reorganiser& reorganiser;
  RegroupJobs& regroup_jobs;
  CompactJob& compact_job;
  ScrubJob& scrub_job;
  BackupJob& backup_job;
  ObjectStore& store;
  std::function<void()> on_initialised;
  std::function<void(const std::string&)> log;
  RequestObserver* observer = nullptr;
  bool acl = true;         // POSIX ACLs are enforced
  bool labels = false;     // the machine's SELinux wants to know which files have no label
  bool below_top = false;  // the store's root is a child of the kernel's (hidden_top.h)
  fuse_session* session = nullptr;
  fuse::AttributeReceipts receipts = {};
  FollowedFileSystem* followed = nullptr;  // what `fs` is where the mount follows another's
  std::atomic<bool> over_ring = false;     // how requests come: over io_uring, or by the device
  LiveNumbers* live = nullptr;
  LoadWindows* windows = nullptr;
};

// The table to give to fuse_session_new.
fuse_lowlevel_ops fuse_operations();

// A virtual attribute of the root: the statistics of the store as JSON.
inline constexpr const char* kStatisticsXattr = "user.cffs.statistics";
// The same with a depth behind it (0 to kDeepest): what directories hold and take, as JSON (core/inspect/directory_sizes.h).
inline constexpr const char* kDirectoriesXattr = "user.cffs.directories.";
inline constexpr unsigned kDeepest = 99;
// What the mount does just now, as JSON (fusefs/live_numbers.h). Scans nothing and waits for no device.
inline constexpr const char* kLiveXattr = "user.cffs.live";
// LevelDB's own log, the newest of it.
inline constexpr const char* kTableLogXattr = "user.cffs.table_log";
// With "VIEWER.MILLISECONDS" behind it: who asked for what since that viewer asked last (fusefs/load_windows.h).
inline constexpr const char* kLoadXattr = "user.cffs.load.";
// Setting this one on the root to "begin" consolidates and compacts in the background, which reading it tells of as JSON; set to "1" it
// returns when that is done. That it is there tells that the root is a cffs mount's.
inline constexpr const char* kCompactXattr = "user.cffs.compact";
// Setting this one on the root commits now: who follows the store has what was there before. Nothing may be read from it.
inline constexpr const char* kCommitXattr = "user.cffs.commit";
// The name of the policy; setting it switches what new files are grouped by.
inline constexpr const char* kPolicyXattr = "user.cffs.policy";
// Setting this one to a choice as JSON (core/plan/policy_choice.h) switches the policy and regroups in the background, or
// with "dry_run" only looks what that would move; reading it tells how that goes.
inline constexpr const char* kRegroupXattr = "user.cffs.regroup";
// Setting this one to a request (core/inspect/scrub_job.h) scrubs in the background; reading it tells how that goes.
inline constexpr const char* kScrubXattr = "user.cffs.scrub";
// The same for backups (core/backup/backup_job.h).
inline constexpr const char* kBackupXattr = "user.cffs.backup";
// The number of the process that serves the mount, in its own pid namespace.
inline constexpr const char* kDaemonXattr = "user.cffs.daemon";
// Of a mount that follows: which checkpoint it shows, as JSON.
inline constexpr const char* kFollowXattr = "user.cffs.follow";

}  // namespace cffs
