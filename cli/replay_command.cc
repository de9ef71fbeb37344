#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fusefs/mount.h"
#include "replay/line_reader.h"
#include "replay/play/make_tree.h"
#include "replay/play/replay.h"
#include "replay/results/counters.h"
#include "replay/results/environment.h"
#include "replay/results/results_file.h"
#include "replay/results/statistics.h"
#include "replay/trace/load_trace.h"
#include "replay/trace/trace_summary.h"

namespace cffs::cli {
namespace {

struct Options {
  std::vector<std::string> inputs;
  replay::LoadOptions load;
  replay::ReplayOptions replay;
  std::string target, library, hosts = "auto", think = "zero", cache = "as-is", check = "content", before,
                               results, name;
  double longest_idle_s = 1;
  bool predict = false, make_tree = false, cold = false, json = false;
};

tl::unexpected<Error> wrong(const std::string& option, const std::string& value, const std::string& wanted) {
  return fail(Error::usage(fmt::format("--{}={} is none of: {}", option, value, wanted)));
}

Status settle(Options& o) {
  if (o.hosts == "auto") {
    o.load.hosts = 0;
  } else {
    char* end = nullptr;
    const unsigned long n = std::strtoul(o.hosts.c_str(), &end, 10);
    if (*end != '\0' || n < 1 || n > 10'000)
      return fail(Error::usage("--hosts wants auto or a number, not '" + o.hosts + "'"));
    o.load.hosts = static_cast<unsigned>(n);
  }
  if (o.think == "zero") {
    o.replay.play.think = 0;
  } else if (o.think == "recorded") {
    o.replay.play.think = 1;
  } else {
    char* end = nullptr;
    o.replay.play.think = std::strtod(o.think.c_str(), &end);
    if (end == o.think.c_str() || *end != '\0' || !(o.replay.play.think >= 0))
      return wrong("think", o.think, "zero, recorded, a factor");
  }
  if (o.cold) o.cache = "cold";
  if (o.cache == "as-is") {
    o.replay.cache = replay::CacheState::as_is;
  } else if (o.cache == "cold") {
    o.replay.cache = replay::CacheState::cold;
  } else if (o.cache == "warm") {
    o.replay.cache = replay::CacheState::warm;
  } else if (o.cache.starts_with("list:")) {
    o.replay.cache = replay::CacheState::list;
    CFFS_TRY_VOID(replay::each_line(o.cache.substr(5), [&](const std::string& line, std::uint64_t) -> Status {
      if (!line.empty()) o.replay.cache_list.push_back(line);
      return {};
    }));
  } else {
    return wrong("cache", o.cache, "as-is, cold, warm, list:FILE");
  }
  o.replay.play.check = o.check == "content" ? replay::Check::content
                        : o.check == "size"  ? replay::Check::size
                                             : replay::Check::none;
  o.replay.schedule.longest_idle_ns = static_cast<std::int64_t>(o.longest_idle_s * 1e9);
  return {};
}

// The target of a replay, opened anew when asked: a directory, or a store through the library.
class Place {
 public:
  explicit Place(const Options& o) : options_(o) {}

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
    CFFS_TRY(store_, open_store(options_.library));
    CFFS_TRY(target_, options_.predict ? replay::make_predict_target(*store_.fs, below)
                                       : replay::make_library_target(*store_.fs, below));
    return target_.get();
  }

 private:
  const Options& options_;
  OpenStore store_;
  std::unique_ptr<replay::Target> target_;
};

Status check_tree(const replay::Trace& trace, replay::Target& target, const std::string& where) {
  for (const replay::InitialEntry& entry : trace.initial) {
    replay::FileFacts facts;
    const std::string& path = trace.path(entry.path);
    if (entry.kind != 'f' || target.stat(path, false, facts) == 0) continue;
    return fail(Error::usage(fmt::format(
        "{}/{} is not there: the trace starts from a tree; make it with --make-tree, or give --fresh", where,
        path)));
  }
  return {};
}

void print_input(const replay::Trace& trace, const replay::LoadReport& report) {
  const replay::TraceSummary s = replay::summary_of(trace);
  if (report.format == "common" || report.format == "combined") {
    fmt::print("log: {} lines, {} malformed, {} other than successful GETs; {} clients, {} requests\n",
               report.lines, report.malformed, report.passed_over, s.clients, s.operations);
  } else {
    fmt::print("trace: {} operations of {} clients in {:.1f} s\n", s.operations, s.clients, s.seconds);
  }
  for (const std::string& sample : report.samples) fmt::print("  malformed: {}\n", sample);
  fmt::print("tree: {} files, {}", s.initial_files, human_bytes(s.initial_bytes));
  if (report.hosts > 1) {
    fmt::print(" ({} virtual hosts with the {} files of the site, each client on one)", report.hosts,
               report.site_files);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// Trees that somebody else made hold other bytes, and that is no fault of the target's.
std::string hint_of(const replay::PlayReport& r) {
  const bool contents_only = r.wrong_content > 0 && r.wrong_content == r.problems();
  return contents_only ? " (contents are those that --make-tree and --fresh write; for any other tree give "
                         "--check=size)"
                       : "";
}

void print_problems(const replay::PlayReport& r) {
  if (r.problems() == 0) return;
  fmt::print(
      "{} operations came out otherwise than they must: {} failed, {} were not refused, {} with another "
      "error, {} "
      "of another size, {} with other bytes; the first: {}{}\n",
      r.problems(), r.failed, r.not_refused, r.other_error, r.wrong_size, r.wrong_content, r.first_problem,
      hint_of(r));
}

void print_result(const replay::ReplayResult& result, const Options& o) {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const replay::Run& run = result.runs[i];
    fmt::print("round {}: replayed {} operations, {} read, {} written, in {:.2f} s: {:.0f}/s\n", run.round,
               run.operations, human_bytes(result.reports[i].read_bytes),
               human_bytes(result.reports[i].written_bytes), run.seconds, run.rate());
    print_problems(result.reports[i]);
  }
  std::vector<double> rates;
  std::map<std::string, replay::LatencyHistogram> calls;
  for (const replay::Run& run : result.runs) {
    rates.push_back(run.rate());
    for (const auto& [call, histogram] : run.latencies) calls[call].merge(histogram);
  }
  if (rates.size() > 1) {
    const replay::Estimate rate = replay::mean_of(rates);
    fmt::print("mean of {} rounds: {:.0f}/s, 90 % confidence {:.0f} to {:.0f}\n", rates.size(), rate.value,
               rate.low, rate.high);
  }
  fmt::print("\n{:<12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "latency, us", "calls", "p50", "p90",
             "p99", "p99.9", "max");
  const auto line = [&](const std::string& name, const replay::LatencyHistogram& h) {
    fmt::print("{:<12} {:>10} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, h.count(),
               us(h.percentile_ns(0.5)), us(h.percentile_ns(0.9)), us(h.percentile_ns(0.99)),
               us(h.percentile_ns(0.999)), us(h.max_ns()));
  };
  replay::LatencyHistogram all;
  for (const auto& [call, histogram] : calls) {
    line(call, histogram);
    all.merge(histogram);
  }
  if (calls.size() > 1) line("all", all);
  const replay::Run& last = result.runs.back();
  fmt::print("\n");
  if (last.metrics.contains("device_reads")) {
    const auto metric = [&](const char* name) { return static_cast<std::uint64_t>(last.metrics.at(name)); };
    fmt::print("device, last round: {} reads, {}; {} writes, {}\n", metric("device_reads"),
               human_bytes(metric("device_read_bytes")), metric("device_writes"),
               human_bytes(metric("device_written_bytes")));
  }
  const double seconds = last.seconds * static_cast<double>(o.replay.schedule.threads);
  fmt::print("the replayer itself: {:.0f} ns an operation ({:.1f} % of the time), checking {:.1f} %\n",
             result.overhead_ns,
             result.overhead_ns * static_cast<double>(last.operations) / 1e7 / last.seconds,
             result.reports.back().checking_seconds * 100 / seconds);
  if (o.replay.play.think > 0)
    fmt::print("the most that an operation started late: {:.3f} s\n", result.reports.back().late_seconds);
  if (result.schedule.left_out > 0)
    fmt::print(
        "{} operations were left out: they failed when recorded for reasons that are not in the trace\n",
        result.schedule.left_out);
  if (result.schedule.unexplained > 0)
    fmt::print(
        "{} operations succeeded when recorded on files that nothing in the trace made; here they must "
        "fail\n",
        result.schedule.unexplained);
}

nlohmann::ordered_json json_of(const replay::ReplayResult& result, const Options& o,
                               const replay::Trace& trace, const replay::LoadReport& report) {
  const replay::Run& run = result.runs.back();
  const replay::PlayReport& r = result.reports.back();
  const replay::LatencyHistogram l = run.all_latencies();
  nlohmann::ordered_json json{{"requests", run.operations},
                              {"bytes", r.read_bytes},
                              {"written_bytes", r.written_bytes},
                              {"seconds", run.seconds},
                              {"requests_per_s", run.rate()},
                              {"p50_ns", l.percentile_ns(0.5)},
                              {"p90_ns", l.percentile_ns(0.9)},
                              {"p99_ns", l.percentile_ns(0.99)},
                              {"p999_ns", l.percentile_ns(0.999)},
                              {"max_ns", l.max_ns()},
                              {"mean_ns", l.count() == 0 ? 0 : l.sum_ns() / l.count()},
                              {"failed", r.failed},
                              {"not_refused", r.not_refused},
                              {"other_error", r.other_error},
                              {"wrong_size", r.wrong_size},
                              {"wrong_content", r.wrong_content},
                              {"left_out", result.schedule.left_out},
                              {"unexplained", result.schedule.unexplained},
                              {"replayer_ns_per_operation", result.overhead_ns},
                              {"threads", o.replay.schedule.threads},
                              {"rounds", result.runs.size()},
                              {"files", replay::summary_of(trace).initial_files},
                              {"virtual_hosts", report.hosts},
                              {"malformed_lines", report.malformed}};
  for (const auto& [name, value] : run.metrics) json["metrics"][name] = value;
  for (const auto& [call, h] : run.latencies) {
    json["calls"][call] = {{"count", h.count()},
                           {"p50_ns", h.percentile_ns(0.5)},
                           {"p90_ns", h.percentile_ns(0.9)},
                           {"p99_ns", h.percentile_ns(0.99)},
                           {"max_ns", h.max_ns()}};
  }
  return json;
}

std::string name_of_place(const Options& o, const replay::MountFacts& mount) {
  if (!o.name.empty()) return o.name;
  if (o.predict) return "predict";
  if (!o.library.empty()) return "library";
  return mount.type.empty() ? o.target : mount.type;
}

Result<int> run_replay(Options o) {
  CFFS_TRY_VOID(settle(o));
  if (o.make_tree && o.target.empty()) return fail(Error::usage("--make-tree needs --target=DIR"));
  if (o.target.empty() == o.library.empty()) {
    return fail(Error::usage("say where to replay: either --target=DIR or --library=STORE"));
  }
  replay::LoadReport report;
  ProgressLine progress;
  CFFS_TRY(const replay::Trace trace, replay::load_trace(o.inputs, o.load, report, [&](std::uint64_t lines) {
             progress.show(fmt::format("{} lines", lines));
           }));
  progress.clear();
  if (!o.json) print_input(trace, report);
  Place place(o);
  if (o.make_tree) {
    std::error_code error;
    std::filesystem::create_directories(o.target, error);
    for (const auto& entry : std::filesystem::directory_iterator(o.target, error)) {
      if (entry.path().filename() != "lost+found")
        return fail(Error::usage(o.target + " is not empty; give an empty directory for the tree"));
    }
    if (error) return fail(error.value(), o.target);
    CFFS_TRY(replay::Target * target, place.open(""));
    CFFS_TRY_VOID(replay::make_tree(trace, *target, [&](std::size_t n) {
      progress.show(fmt::format("{} of {} entries", n, trace.initial.size()));
    }));
    progress.clear();
    if (!o.json) fmt::print("made the tree in {}\n", o.target);
    return 0;
  }
  if (!o.replay.fresh) {
    CFFS_TRY(replay::Target * target, place.open(""));
    CFFS_TRY_VOID(check_tree(trace, *target, o.library.empty() ? o.target : o.library));
  }
  const std::string where = o.library.empty() ? o.target : o.library;
  std::unique_ptr<replay::Meter> meter;
  replay::ReplayHooks hooks;
  hooks.target = [&](const std::string& below) { return place.open(below); };
  hooks.progress = [&](const std::string& text) { progress.show(text); };
  hooks.measure = [&](bool begin, replay::Run& run) {
    if (begin) {
      const replay::MountFacts mount = replay::mount_of(where);
      meter = std::make_unique<replay::Meter>(
          mount.device, mount.type == "fuse.cffs" ? replay::holder_of_store(mount.source) : 0);
      return;
    }
    meter->finish(run.metrics, run.timeline);
    meter.reset();
  };
  CFFS_TRY(replay::ReplayResult result, replay::replay(trace, o.replay, hooks));
  progress.clear();
  const replay::MountFacts mount = replay::mount_of(where);
  for (replay::Run& run : result.runs) {
    run.benchmark = "replay";
    run.workload = trace.about.contains("source") ? trace.about.at("source") : o.inputs.front();
    run.phase = fmt::format("{}, {} thread{}", o.cache, o.replay.schedule.threads,
                            o.replay.schedule.threads == 1 ? "" : "s");
    run.target = name_of_place(o, mount);
    run.parameters = {{"threads", std::to_string(o.replay.schedule.threads)},
                      {"think", o.think},
                      {"cache", o.cache},
                      {"warm_up", fmt::format("{}", o.replay.warm_up)},
                      {"check", o.check},
                      {"hosts", std::to_string(report.hosts)}};
    run.environment = replay::environment();
    run.environment["libfuse"] = fuse_library_version();
    run.environment["mount"] = mount.type + " " + mount.source + " " + mount.options;
  }
  if (!o.results.empty()) CFFS_TRY_VOID(replay::add_results(o.results, result.runs));
  if (o.json) {
    fmt::print(
        "{}\n",
        json_of(result, o, trace, report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    const auto& problem = result.reports.back().first_problem;
    if (!problem.empty())
      std::fprintf(stderr, "cffs: %s%s\n", problem.c_str(), hint_of(result.reports.back()).c_str());
  } else {
    print_result(result, o);
  }
  bool good = true;
  for (const replay::PlayReport& r : result.reports) good = good && r.problems() == 0;
  return good ? 0 : 1;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "replay", "Replay a trace or a web log on a directory or a store, timing each operation");
  auto o = std::make_shared<Options>();
  command
      ->add_option("TRACE", o->inputs, "A trace, a web log, strace output; plain or compressed; - for stdin")
      ->required();
  add_trace_input_flags(*command, o->load);
  command->add_option("--target", o->target, "Directory to replay in: native or any mount");
  command->add_option("--library", o->library, "Store to replay on through the library, without FUSE");
  command->add_flag("--predict", o->predict,
                    "With --library: a write to /dev/null before each call (TableFS-Predict)");
  command->add_flag("--make-tree", o->make_tree,
                    "Make the tree that the trace starts from in --target, and stop");
  command->add_flag("--fresh", o->replay.fresh,
                    "Each round makes its own tree in a directory of its own, removed afterwards");
  command
      ->add_option("--hosts", o->hosts,
                   "Of web logs: copies of the site as virtual hosts; auto: enough for --min-files")
      ->capture_default_str();
  o->load.min_files = 10'000;
  command->add_option("--min-files", o->load.min_files, "Fewest files in the tree, with --hosts=auto")
      ->capture_default_str();
  o->replay.schedule.threads = 4;
  command
      ->add_option("--threads", o->replay.schedule.threads,
                   "Each client's operations keep their order, and those that touch the same files")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command
      ->add_option("--think", o->think,
                   "Time between operations: zero, recorded, or a factor of the recorded one")
      ->capture_default_str();
  command
      ->add_option("--longest-idle", o->longest_idle_s,
                   "Seconds to which recorded stretches without any operation are cut")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option(
          "--cache", o->cache,
          "Before each round: as-is, cold, warm (all files read), list:FILE (cold, then these paths)")
      ->capture_default_str();
  command->add_flag("--cold", o->cold, "The same as --cache=cold");
  command->add_option("--before", o->before,
                      "Command run whenever the target is opened, say to mount it anew");
  command
      ->add_option("--warm-up", o->replay.warm_up,
                   "Share of the operations that is played first and not counted")
      ->check(CLI::Range(0.0, 0.99));
  command->add_option("--rounds", o->replay.rounds, "Rounds; means come with 90 % confidence intervals")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command->add_option("--check", o->check, "What must be right of what comes back: content, size, none")
      ->check(CLI::IsMember({"content", "size", "none"}))
      ->capture_default_str();
  command->add_option("--results", o->results, "Results file (SQLite) that the runs are added to");
  command->add_option("--name", o->name, "The target's name in results");
  command->add_flag("--json", o->json, "For programs");
  command->callback([o, &exit_code] {
    const auto done = run_replay(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
