// Regrouping as a job of a running file system: on request, and by itself under the policy frequency.
//
// By itself: every `interval` the access record is mined; where the groups found would save enough reads on the
// recorded sessions to be worth the copying, they become the store's plan and the store is regrouped by it, no faster
// than the budget. One job at a time, in a thread of its own, which ends at the next group when the file system closes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/fs/regroup.h"
#include "grouping/plan_groups.h"

namespace cffs {

struct RegrouperOptions {
  std::int64_t interval_ms = 0;        // 0: never by itself
  std::uint64_t bytes_per_second = 0;  // budget of what it does by itself; 0: none
};

class Regrouper {
 public:
  Regrouper(FileSystem& fs, RegrouperOptions options);
  ~Regrouper();

  // Returns at once; EBUSY where a job is under way.
  Status start(std::shared_ptr<const grouping::Policy> policy, bool dry_run);
  // {"state": "idle" | "running" | "done" | "failed", "progress": ..., "error": ..., "report": {...}}
  std::string status_json() const;

 private:
  void run();
  void job(std::shared_ptr<const grouping::Policy> policy, bool dry_run, std::uint64_t bytes_per_second);
  void say(const std::string& progress);

  FileSystem& fs_;
  const RegrouperOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::shared_ptr<const grouping::Policy> wanted_;
  bool wanted_dry_run_ = false;
  std::string state_ = "idle", progress_, error_, report_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// What mining a store's own access record gave.
struct OwnPlan {
  std::shared_ptr<const grouping::PlanGroups> groups;  // null: nothing that pays
  std::uint64_t accesses = 0, sessions = 0, files = 0;
  // Reads that the recorded sessions cost where files lie now, and with these groups.
  std::uint64_t reads_now = 0, reads_then = 0;
  std::uint64_t bytes_to_move = 0;
};
// `always`: also where it would not pay.
Result<OwnPlan> mine_own_accesses(FileSystem& fs, bool always);

}  // namespace cffs
