// Results: files, statistics, comparisons.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <tuple>

#include "bench/report/comparison.h"
#include "bench/report/page.h"
#include "replay/results/counters.h"
#include "replay/results/environment.h"
#include "replay/results/results_file.h"
#include "replay/results/statistics.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {
namespace {

Run make_run(const std::string& target, unsigned round, double seconds, std::uint64_t seed) {
  Run run;
  run.benchmark = "b";
  run.workload = "w <1>";
  run.phase = "p";
  run.target = target;
  run.round = round;
  run.started_s = 1'700'000'000;
  run.seconds = seconds;
  run.operations = 1000;
  run.parameters["threads"] = "4";
  run.metrics["device_reads"] = 17.5;
  run.environment = {{"kernel", "k"}, {"mount", target}};
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) run.latencies[i % 2 == 0 ? "open" : "read"].record(random() % 1'000'000);
  run.timeline["operations"] = {1, 2, 3.5};
  return run;
}

}  // namespace

TEST_CASE("results survive their file: histograms without loss") {
  const cffs::test::TemporaryDirectory directory;
  const std::string file = directory.path + "/r.db";
  const std::vector<Run> runs{make_run("ext4", 1, 2.5, 1), make_run("directory", 1, 1.25, 2)};
  REQUIRE(add_results(file, {runs[0]}));
  REQUIRE(add_results(file, {runs[1]}));
  const auto again = read_results(file);
  REQUIRE(again);
  REQUIRE(again->size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Run &a = runs[i], &b = (*again)[i];
    REQUIRE(
        std::tie(a.benchmark, a.workload, a.phase, a.target, a.round, a.seconds, a.operations, a.started_s) ==
        std::tie(b.benchmark, b.workload, b.phase, b.target, b.round, b.seconds, b.operations, b.started_s));
    REQUIRE(a.parameters == b.parameters);
    REQUIRE(a.metrics == b.metrics);
    REQUIRE(a.timeline == b.timeline);
    REQUIRE(a.environment == b.environment);
    for (const auto& [call, h] : a.latencies) {
      const LatencyHistogram& other = b.latencies.at(call);
      REQUIRE(std::tuple(h.count(), h.sum_ns(), h.min_ns(), h.max_ns()) ==
              std::tuple(other.count(), other.sum_ns(), other.min_ns(), other.max_ns()));
      for (const double p : {0.01, 0.5, 0.9, 0.999}) REQUIRE(h.percentile_ns(p) == other.percentile_ns(p));
    }
  }
  std::ofstream(directory.path + "/junk") << "text";
  REQUIRE(!read_results(directory.path + "/junk"));
  REQUIRE(!add_results(directory.path + "/junk", runs));
  REQUIRE(!read_results(directory.path + "/missing"));
}

TEST_CASE("confidence intervals: against values worked out elsewhere") {
  // t(0.95, 4) = 2.13185; the mean of 1..5 is 3, its standard error sqrt(2.5 / 5).
  const Estimate mean = mean_of({1, 2, 3, 4, 5});
  REQUIRE(mean.value == Approx(3));
  REQUIRE(mean.high - mean.value == Approx(2.13185 * 0.707107).epsilon(1e-4));
  REQUIRE(mean_of({7}).low == 7);
  REQUIRE(median_of({3, 1, 2}) == 2);
  REQUIRE(median_of({4, 1, 2, 3}) == 2.5);
  const Estimate same = ratio_of({10, 11, 12}, {10, 11, 12});
  REQUIRE(same.value == Approx(1));
  REQUIRE(same.low < 1);
  REQUIRE(same.high > 1);
  const Estimate twice = ratio_of({20, 20.2, 19.8}, {10, 10.1, 9.9});
  REQUIRE(twice.value == Approx(2).epsilon(0.001));
  REQUIRE(twice.low > 1.9);
  REQUIRE(ratio_of({}, {1}).value == 0);
  REQUIRE(ratio_of({2}, {4}).value == Approx(0.5));
}

TEST_CASE("intervals of random samples hold the truth as often as they say") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> values(50, 5);
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> samples;
    for (int k = 0; k < 5; ++k) samples.push_back(values(random));
    const Estimate e = mean_of(samples);
    held += e.low <= 50 && 50 <= e.high ? 1 : 0;
  }
  REQUIRE(held > 2000 * 0.88);
  REQUIRE(held < 2000 * 0.92);
}

TEST_CASE("runs are put side by side by benchmark, workload and phase") {
  std::vector<Run> runs;
  for (unsigned round = 1; round <= 3; ++round) {
    runs.push_back(make_run("ext4", round, 2.0 + round * 0.01, round));
    runs.push_back(make_run("directory", round, 1.0 + round * 0.01, 10 + round));
  }
  runs.push_back(make_run("xfs", 1, 1, 5));
  runs.back().workload = "another";
  const auto all = cffs::bench::compare(runs, "");
  REQUIRE(all.size() == 2);
  REQUIRE(all[0].baseline == "ext4");
  REQUIRE(all[1].baseline == "xfs");
  REQUIRE(all[0].rounds == 3);
  REQUIRE(all[0].environment.at("kernel") == "k");
  REQUIRE(all[0].environment.at("mount") == "differs");
  const auto* faster = all[0].phases.at(0).find("directory");
  REQUIRE(faster->rate_of_baseline.value == Approx(1.98).epsilon(0.01));
  REQUIRE(faster->rate_of_baseline.low > 1.9);
  REQUIRE(faster->latencies.count() == 3000);
  REQUIRE(cffs::bench::compare(runs, "directory")[0].phases[0].find("ext4")->rate_of_baseline.value < 0.6);
  const std::string page = cffs::bench::html_page(all, {{}, {}});
  REQUIRE(page.find("w &lt;1&gt;") != std::string::npos);
  REQUIRE(page.find("prefers-color-scheme: dark") != std::string::npos);
  REQUIRE(page.find("http://") == std::string::npos);  // needs nothing from elsewhere
}

TEST_CASE("counters and surroundings can be read here") {
  const auto facts = environment();
  REQUIRE(facts.at("kernel").starts_with("Linux"));
  REQUIRE(!facts.at("leveldb").empty());
  REQUIRE(mount_of("/proc").type == "proc");
  REQUIRE(own_cpu_seconds() > 0);
  REQUIRE(resident_bytes(::getpid()) > 1'000'000);
  REQUIRE(device_counters("").reads == 0);
  REQUIRE(device_counters("999:999").reads == 0);
}

}  // namespace cffs::replay::test
