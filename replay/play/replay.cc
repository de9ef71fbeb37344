#include "replay/play/replay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <utility>

#include "core/object/file_descriptor.h"
#include "replay/play/make_tree.h"
#include "replay/trace/trace_summary.h"

namespace cffs::replay {
namespace {

Status read_file(Target& target, const std::string& path, std::string& buffer) {
  const std::int64_t file = target.open(path, O_RDONLY, 0);
  if (file < 0) return fail(static_cast<int>(-file), path);
  std::uint64_t at = 0;
  std::int64_t n = 0;
  while ((n = target.read(file, at, buffer)) > 0) at += static_cast<std::uint64_t>(n);
  (void)target.close(file);
  if (n < 0) return fail(static_cast<int>(-n), path);
  return {};
}

// Brings the caches into the state that a round starts from.
Status prepare_caches(const Trace& trace, Target& target, const ReplayOptions& options) {
  if (options.cache == CacheState::cold || options.cache == CacheState::list)
    CFFS_TRY_VOID(drop_kernel_caches());
  std::string buffer(256 * 1024, '\0');
  if (options.cache == CacheState::list) {
    for (const std::string& path : options.cache_list) CFFS_TRY_VOID(read_file(target, path, buffer));
  }
  if (options.cache == CacheState::warm) {
    for (const InitialEntry& entry : trace.initial) {
      if (entry.kind == 'f') CFFS_TRY_VOID(read_file(target, trace.path(entry.path), buffer));
    }
  }
  return {};
}

// Everything below `directory`, and the directory itself.
Status remove_tree(Target& target, const std::string& directory) {
  const std::int64_t handle = target.open(directory, O_RDONLY | O_DIRECTORY, 0);
  if (handle < 0) return fail(static_cast<int>(-handle), directory);
  std::vector<std::string> names;
  const std::int64_t listed = target.list(handle, &names);
  (void)target.close(handle);
  if (listed < 0) return fail(static_cast<int>(-listed), directory);
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    FileFacts facts;
    const std::int64_t known = target.stat(path, false, facts);
    if (known < 0) return fail(static_cast<int>(-known), path);
    if (S_ISDIR(facts.mode)) {
      CFFS_TRY_VOID(remove_tree(target, path));
    } else if (const std::int64_t gone = target.unlink(path); gone < 0) {
      return fail(static_cast<int>(-gone), path);
    }
  }
  const std::int64_t gone = target.rmdir(directory);
  if (gone < 0) return fail(static_cast<int>(-gone), directory);
  return {};
}

// What the player itself takes for an operation: the whole schedule, played on nothing.
double overhead_of(const Trace& trace, const Schedule& schedule, const PlayOptions& options) {
  PlayOptions bare = options;
  bare.think = 0;
  bare.check = Check::none;
  bare.progress = nullptr;
  Player player(trace, schedule, nullptr);
  const PlayReport report = player.play(bare);
  return report.operations == 0 ? 0 : report.seconds * 1e9 / static_cast<double>(report.operations);
}

// Plays the trace once, below a directory of its own where trees are fresh, and adds what that was to the result. `target` is the
// whole one.
Status play_round(const Trace& trace, const ReplayOptions& options, const ReplayHooks& hooks, unsigned round,
                  const std::string& below, Target* target, ReplayResult& result) {
  if (options.fresh) {
    if (hooks.progress) hooks.progress(fmt::format("round {}: making the tree", round));
    CFFS_TRY(target, hooks.target(below));
    CFFS_TRY_VOID(make_tree(trace, *target));
    (void)target->sync();
    CFFS_TRY(target, hooks.target(below));  // after a remount, where there is one
  }
  CFFS_TRY_VOID(prepare_caches(trace, *target, options));
  Run run;
  run.round = round;
  run.started_s = ::time(nullptr);
  Player player(trace, result.schedule, target);
  PlayOptions play = options.play;
  play.progress = [&](std::uint64_t done) {
    if (hooks.progress)
      hooks.progress(fmt::format("round {}: {} of {} operations", round, done, result.schedule.operations));
  };
  PlayReport warm_up;
  if (options.warm_up > 0) {
    PlayOptions quick = play;
    quick.think = 0;
    warm_up = player.play(
        quick, static_cast<std::uint64_t>(options.warm_up * static_cast<double>(trace.operations.size())));
  }
  if (hooks.measure) hooks.measure(true, run);
  PlayReport report = player.play(play);
  report.add_problems_before(warm_up);  // not counted is its time alone
  fill_run(report, run);
  if (hooks.measure) hooks.measure(false, run);
  player.close_all();
  run.metrics["replayer_ns_per_operation"] = result.overhead_ns;
  if (hooks.played) CFFS_TRY_VOID(hooks.played(run));
  result.reports.push_back(std::move(report));
  result.runs.push_back(std::move(run));
  return {};
}

Status remove_round(const ReplayHooks& hooks, const std::string& below) {
  CFFS_TRY(Target * target, hooks.target(""));
  return remove_tree(*target, below);
}

}  // namespace

void fill_run(const PlayReport& report, Run& run) {
  run.seconds = report.seconds;
  run.operations = report.operations;
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (report.by_call[i]) run.latencies[std::string(name_of(static_cast<Call>(i)))] = *report.by_call[i];
  }
  std::vector<double>& done = run.timeline["operations"];
  for (const std::uint64_t count : report.timeline.counts()) done.push_back(static_cast<double>(count));
  run.metrics["read_bytes"] = static_cast<double>(report.read_bytes);
  run.metrics["written_bytes"] = static_cast<double>(report.written_bytes);
  run.metrics["checking_s"] = report.checking_seconds;
  run.metrics["problems"] = static_cast<double>(report.problems());
}

Result<Schedule> schedule_for(const Trace& trace, ScheduleOptions options, Check check) {
  options.contents = check == Check::content;
  Schedule schedule = make_schedule(trace, options);
  if (schedule.too_many_segments) {
    return fail(Error::usage(
        fmt::format("what the reads of the trace must return is in more than {} pieces, too many to keep in "
                    "memory; check sizes alone (--check=size)",
                    options.most_segments)));
  }
  return schedule;
}

Status drop_kernel_caches() {
  ::sync();
  const FileDescriptor fd(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), "3", 1) != 1) {
    return fail(Error::usage("a cold start needs root: the kernel's caches cannot be dropped without it"));
  }
  return {};
}

Result<ReplayResult> replay(const Trace& trace, const ReplayOptions& options, const ReplayHooks& hooks) {
  ReplayResult result;
  CFFS_TRY(result.schedule, schedule_for(trace, options.schedule, options.play.check));
  result.overhead_ns = overhead_of(trace, result.schedule, options.play);
  if (options.rounds > 1 && !options.fresh && summary_of(trace).changes) {
    return fail(Error::usage(
        "the trace changes its tree, so several rounds need --fresh: each makes a tree of its own"));
  }
  for (unsigned round = 1; round <= options.rounds; ++round) {
    const std::string below = options.fresh ? fmt::format("round-{}-{}", round, ::getpid()) : std::string();
    CFFS_TRY(Target * target, hooks.target(""));
    if (options.fresh) {
      const std::int64_t made = target->mkdir(below, 0755);
      if (made < 0) return fail(static_cast<int>(-made), below);
    }
    Status played = play_round(trace, options, hooks, round, below, target, result);
    if (options.fresh) {  // one that failed leaves nothing, either
      const Status removed = remove_round(hooks, below);
      if (played) played = removed;
    }
    CFFS_TRY_VOID(std::move(played));
  }
  return result;
}

}  // namespace cffs::replay
