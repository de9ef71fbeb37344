#include "fusefs/served_store.h"

#include <chrono>
#include <thread>

#include "core/backend/store_at.h"
#include "core/base/control_groups.h"
#include "core/plan/plan_coverage.h"
#include "core/plan/policy_choice.h"
#include "core/reorganise/policy_adoption.h"
#include "fusefs/memory_shares.h"
#include "fusefs/store_owner.h"

namespace cffs {
namespace {

std::int64_t milliseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1000); }

Result<FileSystemOptions> engine_options(const MountOptions& options, const ServedStore::Log& log) {
  FileSystemOptions engine;
  engine.commit_interval_ms = milliseconds(options.commit_interval_s);
  const MemoryShares shares = shares_of(most_memory());
  engine.cache_bytes = shares.table_cache;
  engine.write_buffer_bytes = shares.write_buffer;
  engine.awake_nodes = shares.awake_inodes;
  engine.frame_cache_bytes = shares.frames;
  if (options.cache_size != kAutomatic) {
    CFFS_TRY(engine.cache_bytes, parse_size(options.cache_size, "--cache-size"));
  }
  if (options.awake_inodes != kAutomatic) {
    CFFS_TRY(engine.awake_nodes, parse_size(options.awake_inodes, "--awake-inodes"));
  }
  engine.keep_ms = milliseconds(options.keep_s);
  engine.log = log;
  engine.read_only = options.read_only;
  if (!options.read_only) {
    engine.access_times = options.access_times;
    engine.directory_access_times = options.directory_access_times;
    CFFS_TRY(engine.access_record_bytes, parse_size(options.access_record, "--access-record"));
  }
  return engine;
}

Result<RegroupJobsOptions> regroup_options(const MountOptions& options) {
  RegroupJobsOptions regrouping;
  if (!options.read_only) regrouping.interval_ms = milliseconds(options.regroup_interval_s);
  if (options.regroup_budget != kAutomatic) {
    CFFS_TRY(regrouping.bytes_per_second, parse_size(options.regroup_budget, "--regroup-budget"));
  }
  return regrouping;
}

// A mount often follows an unmount at once, and umount(8) does not wait for the daemon. So whoever is leaving is waited for;
// one that stays is not, unless this mount stands by.
Result<std::unique_ptr<FileSystem>> open_after_predecessor(const std::string& directory, ObjectStore& objects,
                                                           const FileSystemOptions& engine,
                                                           const MountOptions& options,
                                                           const std::function<bool()>& awaited) {
  using SteadyClock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kMostWait{60};  // a commit of what the medium takes in that time
  constexpr std::chrono::seconds kSilence{3};
  constexpr std::chrono::milliseconds kUnknown{200};  // a process that ends is seen by nobody for a moment
  constexpr std::chrono::milliseconds kTry{5};
  constexpr std::chrono::milliseconds kBetweenLooks{200};  // of one who stands by, for hours
  const auto began = SteadyClock::now();
  auto unknown_since = began;
  bool told = false;
  for (;;) {
    auto opened = FileSystem::open(objects, engine);
    const bool in_use =
        !opened && opened.error().kind == ErrorKind::usage && opened.error().errno_value == EBUSY;
    if (!in_use) return opened;
    if (options.standby) {
      if (!awaited()) return fail(EINTR, "store " + directory);
      if (!told && options.say) options.say(opened.error().message() + "; standing by");
      told = true;
      std::this_thread::sleep_for(kBetweenLooks);
      if (!awaited()) return fail(EINTR, "store " + directory);  // before it may take the store
      continue;
    }
    const StoreOwner owner(directory);
    const auto outlook = owner.outlook();
    const auto now = SteadyClock::now();
    if (outlook != StoreOwner::Outlook::unknown) unknown_since = now;
    if (outlook == StoreOwner::Outlook::stays || now - unknown_since > kUnknown || now - began > kMostWait) {
      return opened;
    }
    if (!awaited()) return fail(EINTR, "store " + directory);
    if (!told && now - began > kSilence && options.say) {
      options.say("store " + directory + " is in use by " + owner.text() +
                  ", whose mount is gone; waiting until it has closed the store");
      told = true;
    }
    std::this_thread::sleep_for(kTry);
  }
}

}  // namespace

Result<std::unique_ptr<ServedStore>> ServedStore::open(const std::string& directory,
                                                       const MountOptions& options, const Log& log,
                                                       const std::function<bool()>& awaited) {
  CFFS_TRY(const FileSystemOptions engine, engine_options(options, log));
  CFFS_TRY(const RegroupJobsOptions regrouping, regroup_options(options));
  std::unique_ptr<ServedStore> store(new ServedStore);
  using Access = PosixStore::Access;
  using Owners = PosixStore::Owners;
  CFFS_TRY(store->objects_,
           open_store_at(directory, options.read_only ? Access::read_only : Access::read_write,
                         options.foreign_owner ? Owners::anybody : Owners::own, options.local_cache_at));
  if (options.follow) {
    CFFS_TRY(auto followed, FollowedFileSystem::open(*store->objects_, engine,
                                                     {milliseconds(options.poll_s), awaited, options.say}));
    store->followed_ = followed.get();
    store->fs_ = std::move(followed);
  } else {
    CFFS_TRY(store->fs_, open_after_predecessor(directory, *store->objects_, engine, options, awaited));
  }
  store->reorganiser_ = std::make_unique<Reorganiser>(*store->fs_, milliseconds(options.quiet_s));
  if (!options.read_only) {  // else there is nothing to group
    if (options.policy.groups) CFFS_TRY_VOID(store->check_plan(options));
    CFFS_TRY_VOID(store->group_by(options.policy, log));
    CFFS_TRY_VOID(store->reorganiser_->start());
  }
  store->regroup_jobs_ = std::make_unique<RegroupJobs>(*store->reorganiser_, regrouping);
  CFFS_TRY_VOID(store->regroup_jobs_->begin());
  store->compact_job_ = std::make_unique<CompactJob>(*store->reorganiser_);
  store->scrub_job_ = std::make_unique<ScrubJob>(*store->fs_);
  store->backup_job_ = std::make_unique<BackupJob>(*store->fs_);
  return store;
}

// A plan of another tree is refused before it takes the place of the one that the store has.
Status ServedStore::check_plan(const MountOptions& options) {
  CFFS_TRY(const PlanCoverage coverage, plan_coverage(*options.policy.groups, *fs_));
  if (coverage.is_strange() && !options.plan_ahead) return fail(strange_plan(options.policy.plan, coverage));
  if (options.say) options.say(coverage.sentence());
  return {};
}

// Only when the store is ours: a plan given by a file becomes its own.
Status ServedStore::group_by(const PolicyChoice& choice, const Log& log) {
  auto policy = choose_policy(*objects_, choice);
  if (!policy && policy.error().kind == ErrorKind::corruption) {
    log(policy.error().message() + "; files are grouped by directory until there is a new plan");
    policy = std::shared_ptr<const grouping::Policy>(grouping::make_policy(choice.name));
  }
  if (!policy) return fail(policy.error());
  if (choice.groups) return adopt_policy(*fs_, std::move(*policy));
  fs_->set_policy(std::move(*policy));
  return {};
}

Status ServedStore::close() {
  backup_job_.reset();
  scrub_job_.reset();
  compact_job_.reset();
  regroup_jobs_.reset();
  reorganiser_.reset();
  return fs_->close();
}

}  // namespace cffs
