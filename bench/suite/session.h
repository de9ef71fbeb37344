// One call of `cffs bench`: options, the targets in turn, phases that are measured, what they printed and stored.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/suite/benchmark.h"
#include "core/base/mutex.h"
#include "core/base/work_step.h"
#include "replay/play/player.h"
#include "replay/results/counters.h"
#include "replay/results/run.h"

namespace cffs::bench {

// What a session is at.
struct SessionProgress {
  WorkStep step;                    // without a name: something is printed next
  std::size_t turn = 0, turns = 0;  // of all targets in all rounds, from 1
};

struct SessionOptions {
  std::vector<std::string> targets;  // empty: the benchmark's own
  Size size = Size::small;
  std::map<std::string, std::string> parameters;  // given by name; others have the size's value
  std::string disk = "raw";
  std::uint64_t image_bytes = 0;            // 0: the benchmark's need
  std::vector<std::uint64_t> memory_bytes;  // limits, one after the other; empty: none, or the paper's
  double aged = 0;
  unsigned rounds = 1;
  std::string work;     // an existing directory
  std::string results;  // file that runs are added to; empty: none
  std::uint64_t seed = 1;
  bool resume = false;      // what the results have already of a round is not run again
  bool sync = false;        // each phase ends when all of it is on the disk
  bool mount_sync = false;  // file systems are mounted with -o sync
  std::function<void(const SessionProgress&)> on_progress;  // from one thread at a time; may be null
};

// Latencies of one thread's operations in a phase.
class Lane {
 public:
  explicit Lane(std::int64_t start_ns) : start_ns_(start_ns) {}
  // Times one operation; returns what it returned.
  template <typename Action>
  std::int64_t time(const char* call, const Action& action) {
    const std::int64_t start = now();
    const std::int64_t result = action();
    const std::int64_t end = now();
    auto& histogram = histograms_[call];
    if (!histogram) histogram = std::make_unique<replay::LatencyHistogram>();
    histogram->record(static_cast<std::uint64_t>(end - start));
    timeline_.record(end - start_ns_);
    ++operations_;
    return result;
  }
  static std::int64_t now();

 private:
  friend class Phase;
  const std::int64_t start_ns_;
  std::map<const char*, std::unique_ptr<replay::LatencyHistogram>> histograms_;
  replay::Timeline timeline_;
  std::uint64_t operations_ = 0;
};

// A measured stretch of work, from its construction to finish().
class Phase {
 public:
  Phase(Session& session, Rig& rig, std::string name);
  Lane& lane(std::size_t index = 0);  // make lanes before threads use them
  // Ends it: one run of the results, one line of the table. `operations` where they were not timed one by one.
  void finish(std::uint64_t operations = 0);
  // So many nanoseconds of it are not the phase's.
  void leave_out(std::int64_t nanoseconds) { left_out_ns_ += nanoseconds; }
  // Something to store beside; before finish().
  void note(const std::string& metric, double value) { run_.metrics[metric] = value; }
  void parameter(const std::string& name, const std::string& value) { run_.parameters[name] = value; }
  // Takes a replay's latencies instead of lanes.
  void take(replay::Run run);

 private:
  Session& session_;
  Rig& rig_;
  replay::Run run_;
  std::unique_ptr<replay::Meter> meter_;
  std::int64_t start_ns_, left_out_ns_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

class Session {
 public:
  Session(const Benchmark& benchmark, SessionOptions options);
  Status run();
  const std::vector<replay::Run>& runs() const { return runs_; }

  // --- for benchmarks ---
  std::uint64_t number(const std::string& parameter) const;
  double real(const std::string& parameter) const;
  std::string text(const std::string& parameter) const;
  std::vector<double> reals(const std::string& parameter) const;       // comma-separated
  std::vector<std::string> words(const std::string& parameter) const;  // the same
  std::uint64_t seed() const { return options_.seed; }
  unsigned round() const { return round_; }
  const std::string& work() const { return options_.work; }
  const SessionOptions& options() const { return options_; }
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  std::string workload() const { return workload(memory_bytes_); }
  // As it is called with that limit of memory.
  std::string workload(std::uint64_t memory_bytes) const;
  const Benchmark& benchmark() const { return benchmark_; }
  void add(replay::Run run);
  // What could not be made durable makes a target's run fail: it would pass for a fast one.
  void note_sync(Status synced) {
    if (synced_) synced_ = std::move(synced);
  }
  // For who watches; from any thread. Not for each operation: some are shorter than this.
  void progress(const WorkStep& step) const;

 private:
  Result<std::vector<std::string>> targets_here() const;
  Status run_target(const std::string& target);
  // Whether this target was run in this round, with what is asked for now: its runs, from what the results had.
  bool take_earlier(const std::vector<replay::Run>& earlier, const std::string& target);
  std::map<std::string, std::string> parameters() const;
  void print_line(const replay::Run& run) const;
  std::uint64_t image_bytes() const;

  const Benchmark& benchmark_;
  const SessionOptions options_;
  unsigned round_ = 1;
  std::uint64_t memory_bytes_ = 0;
  std::size_t turn_ = 0, turns_ = 0;  // of all targets in all rounds: which one it is
  std::vector<replay::Run> runs_;
  Status synced_;  // of the target that runs
  mutable bool printed_head_ = false;
  mutable Mutex one_tells_;
};

// Limits of memory are workloads of their own: a table is of one of them. In the order in which they ran.
std::vector<std::pair<std::string, std::vector<const replay::Run*>>> runs_by_workload(
    const std::vector<replay::Run>& runs);
// Fails where a target's call failed: a benchmark that goes wrong must not look fast.
Status must(std::int64_t result, const std::string& what);
// What a write returned, where it was to write so many bytes: fewer are -EIO.
std::int64_t whole(std::int64_t written, std::size_t bytes);
// open with O_EXCL, write, close, as one: 0, or the first -errno.
std::int64_t make_file(replay::Target& target, const std::string& path, std::span<const char> data);
// Runs `work(thread)` on several threads; the first error counts.
Status in_parallel(unsigned threads, const std::function<Status(unsigned thread)>& work);
std::uint64_t bytes_of(const std::string& text);  // "4K", "1M", "700M"

}  // namespace cffs::bench
