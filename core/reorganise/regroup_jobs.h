// Regrouping as a job of a running file system: on request, and by itself under the policy frequency.
//
// By itself: every `interval` the access record is mined; where the groups found would save enough reads on the
// recorded sessions to be worth the copying, they become the store's plan and the store is regrouped by it, no faster
// than the budget. One job at a time, in a thread of its own, which ends at the next group when the file system closes.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/base/mutex.h"
#include "core/reorganise/regrouping.h"

namespace cffs {

struct RegroupJobsOptions {
  std::int64_t interval_ms = 0;  // 0: never by itself
  // Budget of what it does by itself; 0: none. nullopt: a tenth of what the medium moves, as far as that was measured.
  std::optional<std::uint64_t> bytes_per_second;
};

class RegroupJobs {
 public:
  RegroupJobs(Reorganiser& reorganiser, RegroupJobsOptions options);
  ~RegroupJobs();

  // Makes the thread that does the jobs; once. EAGAIN: there is none to be had, and no job is taken.
  Status begin();
  // By a policy, or none, and with the compression and sharing that are wanted from now on, or none (regroup()).
  struct Job {
    std::shared_ptr<const grouping::Policy> policy;
    std::optional<Compression> compression;
    std::optional<bool> dedupe;
    bool dry_run = false;
    // Of a policy that was mined: nothing is done where somebody has given the store another one than this since it was begun; null: it is what
    // somebody wants.
    std::shared_ptr<const grouping::Policy> instead_of = nullptr;
  };
  // Returns at once; EBUSY where a job is under way.
  Status start(Job wanted);
  // adopt_policy(), for who is not a job: one at a time with the jobs, as each writes the plan anew.
  Status adopt(std::shared_ptr<const grouping::Policy> policy) CFFS_EXCLUDES(adopting_);
  // False: the store has another policy than `before`, and keeps it.
  Result<bool> adopt_instead_of(const std::shared_ptr<const grouping::Policy>& before,
                                std::shared_ptr<const grouping::Policy> policy) CFFS_EXCLUDES(adopting_);
  // What is under way ends at the next group that is whole, as done, with what was moved until then. False: nothing is under way.
  bool cancel();
  // {"state": "idle" | "running" | "done" | "failed", "progress": a step (core/base/work_step.h), "error": ..., "report": {...},
  // "asked": {the same three of the last job that was start()ed, whatever was done by itself since}}
  std::string status_json() const;

 private:
  enum class Wanted { stop, job, mining };

  void run();
  Wanted wait();
  struct Outcome {
    std::string state = "idle", error, report;
  };
  Outcome job(const Job& job, std::uint64_t bytes_per_second);
  void tell_end(Outcome RegroupJobs::*of, Outcome outcome);
  Result<RegroupReport> do_job(const Job& job, std::uint64_t bytes_per_second);
  Result<std::optional<Job>> mined();
  void tell_mining();
  void mine();
  std::uint64_t budget() const;
  void tell(const WorkStep& step);

  Reorganiser& reorganiser_;
  FileSystem& fs_;
  const RegroupJobsOptions options_;
  Mutex adopting_;       // before all locks of the engine
  mutable Mutex mutex_;  // rank 6
  CondVar wake_;
  std::optional<Job> wanted_ CFFS_GUARDED_BY(mutex_);
  std::string state_ CFFS_GUARDED_BY(mutex_) = "idle";
  WorkStep progress_ CFFS_GUARDED_BY(mutex_);
  Outcome asked_ CFFS_GUARDED_BY(mutex_);  // of what was asked for last
  Outcome own_ CFFS_GUARDED_BY(mutex_);    // of what was done by itself since then; "idle": nothing
  std::chrono::steady_clock::time_point next_mining_;  // the thread's own
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ends_job_{false};  // stopping, or the job was cancelled; changed under the mutex
  std::thread thread_;
};

}  // namespace cffs
