// A whole replay: rounds on a target, from a given state of the caches, each a measured run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/play/player.h"
#include "replay/results/run.h"

namespace cffs::replay {

enum class CacheState {
  as_is,
  cold,  // the kernel's caches are dropped
  warm,  // every file of the tree has been read once
  list,  // cold, then the files of a list are read
};

struct ReplayOptions {
  ScheduleOptions schedule;
  PlayOptions play;
  CacheState cache = CacheState::as_is;
  std::vector<std::string> cache_list;  // paths, for CacheState::list
  double warm_up = 0;                   // share of the operations that is played first and not counted
  unsigned rounds = 1;
  bool fresh = false;  // each round makes its own tree in a directory of its own, which is removed again
};

struct ReplayHooks {
  // Makes the target anew before each round (remounting, where that is wanted); called before caches are dropped. The
  // argument is the directory below which the round plays ("" or one that `fresh` made).
  std::function<Result<Target*>(const std::string& below)> target;
  // What the run costs beside its time.
  std::function<void(bool begin, Run& run)> measure;
  std::function<void(const std::string&)> progress;
  // After each round, with what it was: what a later one fails with does not lose it. May be null.
  std::function<Status(Run& run)> played = {};
};

struct ReplayResult {
  std::vector<Run> runs;  // by round
  std::vector<PlayReport> reports;
  Schedule schedule;
  double overhead_ns = 0;  // of the player itself, an operation
};

// What a play measured, as a run: time, operations, latencies by call, throughput over time, bytes and problems.
void fill_run(const PlayReport& report, Run& run);
// make_schedule() for plays that check so. An error where there would be too much to keep.
Result<Schedule> schedule_for(const Trace& trace, ScheduleOptions options, Check check);
// Drops page, dentry and inode caches; needs root.
Status drop_kernel_caches();

Result<ReplayResult> replay(const Trace& trace, const ReplayOptions& options, const ReplayHooks& hooks);

}  // namespace cffs::replay
