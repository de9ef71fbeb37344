#include "core/reorganise/regroup_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/reorganise/own_plan.h"
#include "core/reorganise/policy_adoption.h"
#include "grouping/frequency_policy.h"

namespace cffs {

RegroupJobs::RegroupJobs(Reorganiser& reorganiser, RegroupJobsOptions options)
    : reorganiser_(reorganiser), fs_(reorganiser.fs()), options_(options) {}

Status RegroupJobs::begin() {
  CFFS_TRY(thread_, make_thread("the thread that regroups", [this] { run(); }));
  return {};
}

RegroupJobs::~RegroupJobs() {
  {
    const MutexLock guard(mutex_);  // so that the wake-up is not lost
    stopping_.store(true);
    ends_job_.store(true);
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status RegroupJobs::start(Job wanted) {
  if (!thread_.joinable()) return fail(EAGAIN, "the thread that regroups");
  const MutexLock guard(mutex_);
  if (wanted_ || state_ == "running") return fail(EBUSY, "a regrouping is under way");
  wanted_ = std::move(wanted);
  state_ = "running";
  progress_ = {"starting"};
  asked_ = {state_, {}, {}};
  own_ = {};
  ends_job_.store(stopping_.load());
  wake_.notify_all();
  return {};
}

bool RegroupJobs::cancel() {
  const MutexLock guard(mutex_);
  if (state_ != "running") return false;
  ends_job_.store(true);
  progress_ = {"ending"};
  return true;
}

std::string RegroupJobs::status_json() const {
  const MutexLock guard(mutex_);
  const std::string& error = own_.state == "idle" ? asked_.error : own_.error;
  const std::string& report = own_.report.empty() ? asked_.report : own_.report;
  nlohmann::ordered_json j{{"state", state_}, {"policy", fs_.policy()->name()}, {"error", error}};
  j["progress"] = nlohmann::ordered_json::parse(step_json(progress_));
  if (!report.empty()) j["report"] = nlohmann::ordered_json::parse(report);
  j["asked"] = {{"state", asked_.state}, {"error", asked_.error}};
  if (!asked_.report.empty()) j["asked"]["report"] = nlohmann::ordered_json::parse(asked_.report);
  return j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void RegroupJobs::tell(const WorkStep& step) {
  const MutexLock guard(mutex_);
  state_ = "running";
  progress_ = ends_job_.load() ? WorkStep{"ending"} : step;
}

Result<RegroupReport> RegroupJobs::do_job(const Job& job, std::uint64_t bytes_per_second) {
  RegroupOptions options;
  options.dry_run = job.dry_run;
  options.compression = job.compression;
  options.dedupe = job.dedupe;
  options.bytes_per_second = bytes_per_second;
  options.stop = &ends_job_;
  options.on_progress = [&](const WorkStep& step) { tell(step); };
  if (!job.policy) return change_storage(reorganiser_, options);
  if (job.dry_run) return regroup(reorganiser_, *job.policy, options);
  if (job.instead_of) {
    CFFS_TRY(const bool adopted, adopt_instead_of(job.instead_of, job.policy));
    if (!adopted) return RegroupReport{};
  } else {
    CFFS_TRY_VOID(adopt(job.policy));
  }
  return regroup(reorganiser_, *fs_.policy(), options);
}

Status RegroupJobs::adopt(std::shared_ptr<const grouping::Policy> policy) {
  const MutexLock one_at_a_time(adopting_);
  return adopt_policy(fs_, std::move(policy));
}

Result<bool> RegroupJobs::adopt_instead_of(const std::shared_ptr<const grouping::Policy>& before,
                                           std::shared_ptr<const grouping::Policy> policy) {
  const MutexLock one_at_a_time(adopting_);
  if (fs_.policy() != before) return false;
  CFFS_TRY_VOID(adopt_policy(fs_, std::move(policy)));
  return true;
}

// Memory that runs out fails the job and ends nothing else: what changes rows ends the process by itself where it must (RowLocks::Guard), all else
// is whole at any time.
RegroupJobs::Outcome RegroupJobs::job(const Job& job, std::uint64_t bytes_per_second) {
  auto report = within_memory([&]() -> Result<std::string> {
    CFFS_TRY(const RegroupReport done, do_job(job, bytes_per_second));
    return regroup_json(done);
  });
  if (report) return {"done", {}, std::move(*report)};
  return {"failed", message_within_memory(report.error()), {}};
}

// Takes no memory.
void RegroupJobs::tell_end(Outcome RegroupJobs::*of, Outcome outcome) {
  const MutexLock guard(mutex_);
  state_ = outcome.state;
  this->*of = std::move(outcome);
  progress_ = {};
}

// In bytes a second.
std::uint64_t RegroupJobs::budget() const {
  constexpr std::uint64_t kUnmeasured = 16u << 20, kLeast = 1u << 20;
  if (options_.bytes_per_second) return *options_.bytes_per_second;
  const std::uint64_t medium = fs_.read_ahead().bytes_per_second;
  return medium == 0 ? kUnmeasured : std::max(kLeast, medium / 10);
}

// What the record says, where it pays; nullopt where it does not.
Result<std::optional<RegroupJobs::Job>> RegroupJobs::mined() {
  tell_mining();
  auto before = fs_.policy();
  CFFS_TRY(const auto own, mine_own_accesses(fs_, false, fs_.read_ahead().worth));
  if (!own.groups) return std::optional<Job>();
  fs_.log("regrouping by what " + std::to_string(own.sessions) +
          " recorded sessions used together: " + std::to_string(own.groups->size()) + " groups, " +
          std::to_string(own.reads_now) + " reads become " + std::to_string(own.reads_then));
  Job wanted;
  wanted.policy = std::make_shared<grouping::FrequencyPolicy>(own.groups);
  wanted.instead_of = std::move(before);
  return wanted;
}

void RegroupJobs::tell_mining() {
  const MutexLock guard(mutex_);
  state_ = "running";
  progress_ = {"mining the access record"};
  ends_job_.store(stopping_.load());
}

// By itself.
void RegroupJobs::mine() {
  const auto own = within_memory([this] { return mined(); });
  if (own && *own) return tell_end(&RegroupJobs::own_, job(**own, budget()));
  std::string error = own ? std::string() : message_within_memory(own.error());
  const MutexLock guard(mutex_);
  state_ = own ? "idle" : "failed";
  own_.state = own ? "done" : "failed";  // the report of an earlier time stays
  own_.error = std::move(error);
  progress_ = {};
}

RegroupJobs::Wanted RegroupJobs::wait() {
  const MutexLock guard(mutex_);
  for (;;) {
    if (stopping_.load()) return Wanted::stop;
    if (wanted_) return Wanted::job;
    if (options_.interval_ms <= 0) {
      wake_.wait(mutex_);
    } else if (!wake_.wait_until(mutex_, next_mining_)) {
      next_mining_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.interval_ms);
      if (fs_.policy()->id() == grouping::PolicyId::frequency) return Wanted::mining;
    }
  }
}

void RegroupJobs::run() {
  next_mining_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.interval_ms);
  for (;;) {
    const Wanted wanted = wait();
    if (wanted == Wanted::stop) return;
    if (wanted == Wanted::mining) {
      mine();
      continue;
    }
    std::optional<Job> wanted_job;
    {
      const MutexLock guard(mutex_);
      wanted_job = std::exchange(wanted_, std::nullopt);
    }
    tell_end(&RegroupJobs::asked_, job(*wanted_job, 0));
    // Where the time to mine came meanwhile it is passed by: nothing follows what somebody has just wanted to be as it is.
    const auto now = std::chrono::steady_clock::now();
    if (next_mining_ < now) next_mining_ = now + std::chrono::milliseconds(options_.interval_ms);
  }
}

}  // namespace cffs
