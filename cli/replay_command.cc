// replay: a trace or a web log, played on a directory or a store.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "cli/commands.h"
#include "cli/replay_flags.h"
#include "cli/replay_report.h"
#include "fusefs/mount.h"
#include "replay/play/make_tree.h"
#include "replay/play/replay.h"
#include "replay/results/counters.h"
#include "replay/results/environment.h"
#include "replay/results/results_file.h"
#include "replay/trace/trace_summary.h"

namespace cffs::cli {
namespace {

// The target of a replay, opened anew when asked: a directory, or a store through the library.
class ReplayTarget {
 public:
  explicit ReplayTarget(const ReplayFlags& o) : options_(o) {}

  Result<replay::Target*> open(const std::string& below) {
    target_.reset();
    if (!options_.before.empty()) {
      const int status = std::system(options_.before.c_str());  // NOLINT: what the user asked for
      if (status != 0) return fail(Error::usage("--before: '" + options_.before + "' failed"));
    }
    if (options_.library.empty()) {
      const std::string directory = below.empty() ? options_.target : options_.target + "/" + below;
      CFFS_TRY(target_, replay::make_directory_target(directory));
      return target_.get();
    }
    store_ = {};
    CFFS_TRY(store_, open_store({options_.library, options_.foreign_owner}));
    CFFS_TRY(target_, options_.predict ? replay::make_predict_target(*store_.fs, below)
                                       : replay::make_library_target(*store_.fs, below));
    return target_.get();
  }

 private:
  const ReplayFlags& options_;
  OpenStore store_;
  std::unique_ptr<replay::Target> target_;
};

// Whether the tree is there, by its first file: a look at each would bring every name into memory before the first operation is
// timed. Caches that stay as they are are not touched at all, but for a trace that would write into whatever is there.
Status check_tree(const replay::Trace& trace, const ReplayFlags& o, ReplayTarget& target,
                  const std::string& where) {
  if (o.replay.fresh) return {};
  if (o.replay.cache == replay::CacheState::as_is && !replay::summary_of(trace).changes) return {};
  const auto first = std::find_if(trace.initial.begin(), trace.initial.end(),
                                  [](const replay::InitialEntry& entry) { return entry.kind == 'f'; });
  if (first == trace.initial.end()) return {};
  CFFS_TRY(replay::Target * root, target.open(""));
  const std::string& path = trace.path(first->path);
  replay::FileFacts facts;
  if (root->stat(path, false, facts) == 0) return {};
  return fail(Error::usage(fmt::format(
      "{}/{} is not there: the trace starts from a tree; make it with --make-tree, or give --fresh", where,
      path)));
}

std::string name_of_target(const ReplayFlags& o, const replay::MountFacts& mount) {
  if (!o.name.empty()) return o.name;
  if (o.predict) return "predict";
  if (!o.library.empty()) return "library";
  return mount.type.empty() ? o.target : mount.type;
}

Status make_initial_tree(const replay::Trace& trace, const ReplayFlags& o, ReplayTarget& target,
                         ProgressLine& progress) {
  std::error_code error;
  std::filesystem::create_directories(o.target, error);
  for (const auto& entry : std::filesystem::directory_iterator(o.target, error)) {
    if (entry.path().filename() != "lost+found")
      return fail(Error::usage(o.target + " is not empty; give an empty directory for the tree"));
  }
  if (error) return fail(error.value(), o.target);
  CFFS_TRY(replay::Target * root, target.open(""));
  CFFS_TRY_VOID(replay::make_tree(trace, *root, [&](std::size_t n) {
    progress.show(fmt::format("{} of {} entries", n, trace.initial.size()));
  }));
  return {};
}

// Plays all rounds, and counts what each costs the device and the daemon below `where`.
Result<replay::ReplayResult> play(const replay::Trace& trace, const ReplayFlags& o, ReplayTarget& target,
                                  const std::string& where, ProgressLine& progress,
                                  const std::function<Status(replay::Run&)>& played) {
  std::unique_ptr<replay::Meter> meter;
  replay::ReplayHooks hooks;
  hooks.played = played;
  hooks.target = [&](const std::string& below) { return target.open(below); };
  hooks.progress = [&](const std::string& text) { progress.show(text); };
  hooks.measure = [&](bool begin, replay::Run& run) {
    if (begin) {
      const replay::MountFacts mount = replay::mount_of(where);
      meter = std::make_unique<replay::Meter>(mount.device,
                                              mount.type == "fuse.cffs" || mount.type == "fuseblk.cffs"
                                                  ? replay::holder_of_store(mount.source)
                                                  : 0);
      return;
    }
    meter->finish(run.metrics, run.timeline);
    meter.reset();
  };
  return replay::replay(trace, o.replay, hooks);
}

// What an operation waits for, what is checked and what went before: runs are compared where all of it is the same.
std::string phase_of(const ReplayFlags& o) {
  std::string words = fmt::format("{}, {} thread{}", o.cache, o.replay.schedule.threads,
                                  o.replay.schedule.threads == 1 ? "" : "s");
  if (o.think != "zero") words += fmt::format(", think {}, idle {:g} s", o.think, o.longest_idle_s);
  if (o.replay.warm_up > 0) words += fmt::format(", after {:g} of it", o.replay.warm_up);
  if (o.check != "content") words += ", check " + o.check;
  if (o.replay.fresh) words += ", fresh";
  return words;
}

// What the run was of, where, and with which flags: for the results file.
void describe(replay::Run& run, const replay::Trace& trace, const replay::LoadReport& report,
              const ReplayFlags& o, const std::string& where) {
  const replay::MountFacts mount = replay::mount_of(where);
  run.benchmark = "replay";
  run.workload = trace.about.contains("source") ? trace.about.at("source") : o.inputs.front();
  if (report.hosts > 1) run.workload += fmt::format(", {} hosts", report.hosts);
  run.phase = phase_of(o);
  run.target = name_of_target(o, mount);
  run.parameters = {{"threads", std::to_string(o.replay.schedule.threads)},
                    {"think", o.think},
                    {"longest_idle_s", fmt::format("{:g}", o.longest_idle_s)},
                    {"cache", o.cache},
                    {"warm_up", fmt::format("{}", o.replay.warm_up)},
                    {"check", o.check},
                    {"fresh", o.replay.fresh ? "1" : "0"},
                    {"hosts", std::to_string(report.hosts)}};
  run.environment = replay::environment();
  run.environment["libfuse"] = fuse_library_version();
  run.environment["mount"] = mount.type + " " + mount.source + " " + mount.options;
}

// Operations that did not follow from those before: when the trace was made, or now.
std::uint64_t surprises_of(const replay::Trace& trace, const replay::Schedule& schedule) {
  std::uint64_t recorded = 0;
  if (const auto it = trace.about.find("surprises"); it != trace.about.end())
    recorded = std::strtoull(it->second.c_str(), nullptr, 10);
  return std::max(recorded, schedule.left_out + schedule.unexplained);
}

// A replay of what was not recorded whole is of another session: said, and no success.
bool follows_recording(const replay::Trace& trace, const replay::Schedule& schedule, double most) {
  const std::uint64_t surprises = surprises_of(trace, schedule);
  const auto operations = static_cast<double>(trace.operations.size());
  if (static_cast<double>(surprises) <= most * operations) return true;
  std::fflush(stdout);
  say(
      fmt::format("{} of {} operations ({:.1f} %) do not follow from the recording, so this was not what was "
                  "recorded; record all calls (cffs trace record), or allow it with --max-surprises",
                  surprises, trace.operations.size(), 100 * static_cast<double>(surprises) / operations));
  return false;
}

Result<int> run_replay(ReplayFlags o) {
  CFFS_TRY_VOID(settle(o));
  if (!o.results.empty()) CFFS_TRY_VOID(replay::add_results(o.results, {}));
  replay::LoadReport report;
  ProgressLine progress;
  CFFS_TRY(const replay::Trace trace, replay::load_trace(o.inputs, o.load, report, [&](std::uint64_t lines) {
             progress.show(fmt::format("{} lines", lines));
           }));
  progress.clear();
  if (!o.json) print_input(trace, report);
  const std::string where = o.library.empty() ? o.target : o.library;
  ReplayTarget target(o);
  if (o.make_tree) {
    CFFS_TRY_VOID(make_initial_tree(trace, o, target, progress));
    progress.clear();
    if (!o.json) fmt::print("made the tree in {}\n", o.target);
    return 0;
  }
  CFFS_TRY_VOID(check_tree(trace, o, target, where));
  CFFS_TRY(const replay::ReplayResult result,
           play(trace, o, target, where, progress, [&](replay::Run& run) -> Status {
             describe(run, trace, report, o, where);
             if (o.results.empty()) return {};
             return replay::add_results(o.results, {run});
           }));
  progress.clear();
  if (o.json) {
    print_json(result, o, trace, report);
  } else {
    print_result(result, o);
  }
  bool good = follows_recording(trace, result.schedule, o.max_surprises);
  for (const replay::PlayReport& r : result.reports) good = good && r.problems() == 0;
  return good ? 0 : 1;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "replay", "Replay a trace or a web log on a directory or a store, timing each operation");
  auto o = std::make_shared<ReplayFlags>();
  add_replay_flags(*command, *o);
  command->callback([o, &exit_code] {
    const auto done = run_replay(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
