#include "bench/suite/session.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "bench/rig/target_name.h"
#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "fusefs/mount.h"
#include "replay/results/environment.h"
#include "replay/results/results_file.h"

namespace cffs::bench {

std::int64_t Lane::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status must(std::int64_t result, const std::string& what) {
  if (result < 0) return fail(static_cast<int>(-result), what);
  return {};
}

std::int64_t whole(std::int64_t written, std::size_t bytes) {
  return written >= 0 && static_cast<std::size_t>(written) < bytes ? -EIO : written;
}

std::int64_t make_file(replay::Target& target, const std::string& path, std::span<const char> data) {
  const std::int64_t file = target.open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (file < 0) return file;
  const std::int64_t written = whole(target.write(file, 0, data), data.size());
  const std::int64_t closed = target.close(file);
  return written < 0 ? written : closed;
}

std::uint64_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  double factor = 1;
  if (unit == "K" || unit == "k") factor = 1024;
  if (unit == "M" || unit == "m") factor = 1024.0 * 1024;
  if (unit == "G" || unit == "g") factor = 1024.0 * 1024 * 1024;
  return static_cast<std::uint64_t>(number * factor);
}

Status in_parallel(unsigned threads, const std::function<Status(unsigned)>& work) {
  if (threads <= 1) return work(0);
  std::vector<Status> outcomes(threads);
  std::vector<std::thread> running;
  running.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) {
    auto made =
        make_thread("a client's thread", [&, i] { outcomes[i] = within_memory([&] { return work(i); }); });
    if (made) {
      running.push_back(std::move(*made));
    } else {
      outcomes[i] = fail(std::move(made.error()));
    }
  }
  for (std::thread& thread : running) thread.join();
  for (Status& outcome : outcomes) {
    if (!outcome) return outcome;
  }
  return {};
}

// --- phases ---

Phase::Phase(Session& session, Rig& rig, std::string name) : session_(session), rig_(rig), start_ns_(0) {
  run_.phase = std::move(name);
  run_.target = rig.name();
  run_.started_s = ::time(nullptr);
  session.progress({rig.name() + ": " + run_.phase});
  meter_ = std::make_unique<replay::Meter>(rig.device(), rig.daemon());
  start_ns_ = Lane::now();
}

Lane& Phase::lane(std::size_t index) {
  while (lanes_.size() <= index) lanes_.push_back(std::make_unique<Lane>(start_ns_));
  return *lanes_[index];
}

void Phase::take(replay::Run run) {
  run_.latencies = std::move(run.latencies);
  run_.timeline = std::move(run.timeline);
  run_.metrics.merge(run.metrics);
  run_.operations = run.operations;
  run_.seconds = run.seconds;
}

void Phase::finish(std::uint64_t operations) {
  const std::int64_t before = Lane::now();
  if (session_.options().sync) session_.note_sync(rig_.sync());
  const std::int64_t end = Lane::now();
  if (run_.seconds == 0) {
    run_.seconds = static_cast<double>(end - start_ns_ - left_out_ns_) / 1e9;
  } else if (session_.options().sync) {  // a replay's own time, and what it left behind
    run_.seconds += static_cast<double>(end - before) / 1e9;
  }
  meter_->finish(run_.metrics, run_.timeline);
  replay::Timeline timeline;
  for (const auto& lane : lanes_) {
    for (const auto& [call, histogram] : lane->histograms_) run_.latencies[call].merge(*histogram);
    timeline.merge(lane->timeline_);
    run_.operations += lane->operations_;
  }
  if (!lanes_.empty()) {
    auto& done = run_.timeline["operations"];
    for (const std::uint64_t count : timeline.counts()) done.push_back(static_cast<double>(count));
  }
  if (operations != 0) run_.operations = operations;
  const Rig::Space space = rig_.used();
  run_.metrics["space_bytes"] = space.bytes;
  run_.metrics["inodes"] = space.inodes;
  run_.environment["mount"] = rig_.mount_description();
  session_.add(std::move(run_));
}

// --- sessions ---

Session::Session(const Benchmark& benchmark, SessionOptions options)
    : benchmark_(benchmark), options_(std::move(options)) {}

std::string Session::text(const std::string& name) const {
  if (const auto given = options_.parameters.find(name); given != options_.parameters.end())
    return given->second;
  for (const Parameter& p : benchmark_.parameters) {
    if (p.name != name) continue;
    return options_.size == Size::tiny ? p.tiny : options_.size == Size::small ? p.small : p.paper;
  }
  return {};
}

std::uint64_t Session::number(const std::string& name) const { return bytes_of(text(name)); }
double Session::real(const std::string& name) const { return std::strtod(text(name).c_str(), nullptr); }

std::vector<double> Session::reals(const std::string& name) const {
  std::vector<double> values;
  for (const std::string& word : words(name)) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

std::vector<std::string> Session::words(const std::string& name) const {
  std::vector<std::string> words;
  std::string rest = text(name);
  while (!rest.empty()) {
    words.push_back(rest.substr(0, rest.find(',')));
    rest.erase(0, std::min(words.back().size() + 1, rest.size()));
  }
  return words;
}

const char* name_of(Size size) {
  switch (size) {
    case Size::tiny:
      return "tiny";
    case Size::small:
      return "small";
    case Size::paper:
      break;
  }
  return "paper";
}

std::string Session::workload(std::uint64_t memory_bytes) const {
  // By its name, too: what a size has in its own ways (shapes of trees, the disk's room) is no parameter.
  std::string words = fmt::format("{}, {}", options_.disk, name_of(options_.size));
  if (options_.image_bytes != 0) words += fmt::format(", {} MB disk", options_.image_bytes >> 20);
  if (options_.aged > 0) words += fmt::format(", aged {:g}", options_.aged);
  if (options_.mount_sync) words += ", -o sync";
  if (options_.sync) words += ", synced";
  if (memory_bytes != 0) words += fmt::format(", {} MB memory", memory_bytes >> 20);
  for (const Parameter& p : benchmark_.parameters) {
    const std::string value = text(p.name);
    if (!value.empty()) words += ", " + p.name + " " + value.substr(value.rfind('/') + 1);
  }
  return words;
}

std::uint64_t Session::image_bytes() const {
  if (options_.image_bytes != 0) return options_.image_bytes;
  if (!benchmark_.image_bytes.empty()) return benchmark_.image_bytes[static_cast<std::size_t>(options_.size)];
  switch (options_.size) {
    case Size::tiny:
      return 1ull << 30;
    case Size::small:
      return 8ull << 30;
    case Size::paper:
      break;
  }
  return 64ull << 30;
}

void Session::progress(const WorkStep& step) const {
  if (!options_.on_progress) return;
  const MutexLock guard(one_tells_);
  options_.on_progress({step, turn_, turns_});
}

void Session::print_line(const replay::Run& run) const {
  progress({});
  if (!printed_head_) {
    fmt::print("{:<14} {:<34} {:>5} {:>10} {:>11} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>7}\n", "target",
               "phase", "round", "seconds", "ops/s", "p50 us", "p99 us", "max us", "reads", "writes",
               "MB disk", "cpu s");
    printed_head_ = true;
  }
  const replay::LatencyHistogram all = run.all_latencies();
  const auto us = [&](std::uint64_t ns) {
    return all.count() == 0 ? std::string("-") : fmt::format("{:.1f}", static_cast<double>(ns) / 1e3);
  };
  const auto metric = [&](const char* name) {
    const auto it = run.metrics.find(name);
    return it == run.metrics.end() ? 0.0 : it->second;
  };
  const bool counted = run.metrics.contains("device_reads");
  const double moved = (metric("device_read_bytes") + metric("device_written_bytes")) / 1e6;
  fmt::print("{:<14} {:<34} {:>5} {:>10.4f} {:>11.1f} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>7.2f}\n",
             run.target, run.phase, run.round, run.seconds, run.rate(), us(all.percentile_ns(0.5)),
             us(all.percentile_ns(0.99)), us(all.max_ns()),
             counted ? fmt::format("{:.0f}", metric("device_reads")) : "-",
             counted ? fmt::format("{:.0f}", metric("device_writes")) : "-",
             counted ? fmt::format("{:.1f}", moved) : "-", metric("client_cpu_s") + metric("daemon_cpu_s"));
  std::fflush(stdout);
}

std::map<std::string, std::string> Session::parameters() const {
  std::map<std::string, std::string> all{{"disk", options_.disk},
                                         {"memory_bytes", std::to_string(memory_bytes_)},
                                         {"size", name_of(options_.size)},
                                         {"image_bytes", std::to_string(image_bytes())},
                                         {"aged", fmt::format("{:g}", options_.aged)},
                                         {"seed", std::to_string(options_.seed)}};
  for (const Parameter& p : benchmark_.parameters) all[p.name] = text(p.name);
  return all;
}

// The runs of a target in a round are added together: where one is, all are.
bool Session::take_earlier(const std::vector<replay::Run>& earlier, const std::string& target) {
  const auto wanted = parameters();
  const std::size_t before = runs_.size();
  for (const replay::Run& run : earlier) {
    const bool same = std::all_of(wanted.begin(), wanted.end(), [&](const auto& parameter) {
      if (parameter.second.empty()) return true;  // the benchmark chose, by its size
      const auto had = run.parameters.find(parameter.first);
      return had != run.parameters.end() && had->second == parameter.second;
    });
    if (same && run.benchmark == benchmark_.name && run.workload == workload() && run.target == target &&
        run.round == round_)
      runs_.push_back(run);
  }
  return runs_.size() > before;
}

void Session::add(replay::Run run) {
  run.benchmark = benchmark_.name;
  run.workload = workload();
  run.round = round_;
  // What the phase itself has said stays.
  for (auto& [name, value] : parameters()) run.parameters.try_emplace(name, value);
  std::string mount = run.environment["mount"];
  run.environment = replay::environment();
  run.environment["mount"] = mount;
  run.environment["disk"] = options_.disk;
  run.environment["libfuse"] = fuse_library_version();
  print_line(run);
  runs_.push_back(std::move(run));
}

Status Session::run_target(const std::string& target) {
  RigOptions rig_options;
  rig_options.work = options_.work;
  rig_options.disk = options_.disk;
  rig_options.image_bytes = image_bytes();
  rig_options.inodes = number("files") * 2 + 10'000;  // benchmarks that have no such parameter ask for few
  rig_options.memory_bytes = memory_bytes_;
  rig_options.aged = options_.aged;
  rig_options.synchronous = options_.mount_sync;
  progress({target + ": setting up"});
  CFFS_TRY(const auto rig, Rig::start(target, rig_options));
  if (rig->is_objects() && !benchmark_.takes_objects)
    return fail(Error::command_line(target + " keeps objects, not files: it is for the benchmarks of OBFS"));
  if (benchmark_.needs_mount && !rig->has_directory()) {
    return fail(Error::command_line(
        fmt::format("benchmark {} runs programs, which {} cannot serve; leave it out of --targets",
                    benchmark_.name, target)));
  }
  synced_ = {};
  CFFS_TRY_VOID(benchmark_.run(*this, *rig));
  return synced_;
}

// The targets that this machine has what it takes for; of each other one a line on stderr says what is missing.
Result<std::vector<std::string>> Session::targets_here() const {
  const std::vector<std::string>& wanted = options_.targets.empty() ? benchmark_.targets : options_.targets;
  std::vector<std::string> here;
  for (const std::string& target : wanted) {
    CFFS_TRY_VOID(check_target(target));
    if (is_peer(target) && !benchmark_.only_reads) {
      return fail(
          Error::command_line(fmt::format("{} cannot be written to: it is for cffs bench reads", target)));
    }
  }
  for (const std::string& target : wanted) {
    const Status can = try_out_target(target, options_.work);
    if (can)
      here.push_back(target);
    else
      fmt::print(stderr, "{} is left out: {}\n", target, can.error().message());
  }
  if (here.empty()) return fail(Error::usage("no target is left"));
  return here;
}

Status Session::run() {
  CFFS_TRY(const std::vector<std::string> targets, targets_here());
  if (!options_.results.empty()) CFFS_TRY_VOID(replay::add_results(options_.results, {}));
  std::vector<replay::Run> earlier;
  if (options_.resume) {
    CFFS_TRY(earlier, replay::read_results(options_.results));
  }
  std::vector<std::uint64_t> memories = options_.memory_bytes;
  if (memories.empty() && options_.size == Size::paper) memories = benchmark_.paper_memory;
  if (memories.empty()) memories.push_back(0);
  turns_ = memories.size() * options_.rounds * targets.size();
  for (const std::uint64_t memory : memories) {
    memory_bytes_ = memory;
    for (round_ = 1; round_ <= options_.rounds; ++round_) {
      for (const std::string& target : targets) {
        ++turn_;
        if (take_earlier(earlier, target)) {
          progress({});
          fmt::print("{:<14} round {} is in {} already\n", target, round_, options_.results);
          continue;
        }
        const std::size_t before = runs_.size();
        CFFS_TRY_VOID(run_target(target));
        if (options_.results.empty()) continue;
        const std::vector<replay::Run> fresh(runs_.begin() + static_cast<std::ptrdiff_t>(before),
                                             runs_.end());
        CFFS_TRY_VOID(replay::add_results(options_.results, fresh));
      }
    }
  }
  if (benchmark_.summary) benchmark_.summary(*this);
  return {};
}

std::vector<std::pair<std::string, std::vector<const replay::Run*>>> runs_by_workload(
    const std::vector<replay::Run>& runs) {
  std::vector<std::pair<std::string, std::vector<const replay::Run*>>> all;
  for (const replay::Run& run : runs) {
    auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.first == run.workload; });
    if (found == all.end()) found = all.insert(all.end(), {run.workload, {}});
    found->second.push_back(&run);
  }
  return all;
}

const std::vector<Benchmark>& benchmarks() {
  static const std::vector<Benchmark> all = [] {
    std::vector<Benchmark> list;
    for (auto make :
         {table_benchmarks, tree_benchmarks, mail_benchmarks, replay_benchmarks, object_benchmarks,
          growth_benchmarks, read_benchmarks, old_disk_benchmarks, program_benchmarks}) {
      for (Benchmark& b : make()) list.push_back(std::move(b));
    }
    return list;
  }();
  return all;
}

const Benchmark* find_benchmark(const std::string& name) {
  for (const Benchmark& b : benchmarks()) {
    if (b.name == name) return &b;
  }
  return nullptr;
}

}  // namespace cffs::bench
