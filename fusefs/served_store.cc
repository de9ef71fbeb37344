#include "fusefs/served_store.h"

#include "core/plan/plan_coverage.h"
#include "core/plan/policy_choice.h"
#include "core/reorganise/policy_adoption.h"

namespace cffs {
namespace {

std::int64_t milliseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1000); }

Result<FileSystemOptions> engine_options(const MountOptions& options, const ServedStore::Log& log) {
  FileSystemOptions engine;
  engine.commit_interval_ms = milliseconds(options.commit_interval_s);
  CFFS_TRY(engine.cache_bytes, parse_size(options.cache_size, "--cache-size"));
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
  CFFS_TRY(regrouping.bytes_per_second, parse_size(options.regroup_budget, "--regroup-budget"));
  return regrouping;
}

}  // namespace

Result<std::unique_ptr<ServedStore>> ServedStore::open(const std::string& directory,
                                                       const MountOptions& options, const Log& log) {
  CFFS_TRY(const FileSystemOptions engine, engine_options(options, log));
  CFFS_TRY(const RegroupJobsOptions regrouping, regroup_options(options));
  std::unique_ptr<ServedStore> store(new ServedStore);
  using Access = PosixStore::Access;
  CFFS_TRY(store->objects_,
           PosixStore::open_directory(directory, options.read_only ? Access::read_only : Access::read_write));
  CFFS_TRY(store->fs_, FileSystem::open(*store->objects_, engine));
  store->reorganiser_ = std::make_unique<Reorganiser>(*store->fs_, milliseconds(options.quiet_s));
  if (!options.read_only) {  // else there is nothing to group
    if (options.policy.groups) CFFS_TRY_VOID(store->check_plan(options));
    CFFS_TRY_VOID(store->group_by(options.policy, log));
    store->reorganiser_->start();
  }
  store->regroup_jobs_ = std::make_unique<RegroupJobs>(*store->reorganiser_, regrouping);
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
  regroup_jobs_.reset();
  reorganiser_.reset();
  return fs_->close();
}

}  // namespace cffs
