// What the publications say beside what was measured.
#include "bench/report/headlines.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>

#include "bench/suite/session.h"

namespace cffs::bench {
namespace {

Publication made_up() {
  return {"made-up",
          "A paper",
          {{"postmark", "raw", 0, {"ext4", "none"}, {{"files", "7"}}, {}}},
          {{"1", "all of it", 1.5, 3, 0, {"create", "delete"}, "none", "ext4"},
           {"2", "half of it", 0, 1, 0, {"delete"}, "none", "ext4"},
           {"3", "another target", 2, 0, 0, {"create"}, "directory", "ext4"}}};
}

replay::Run run(const std::string& phase, const std::string& target, double seconds, unsigned round = 1) {
  const Step step = made_up().steps[0];
  replay::Run run;
  run.benchmark = step.benchmark;
  run.workload = Session(*find_benchmark(step.benchmark), options_of(step, Size::small)).workload();
  run.phase = phase;
  run.target = target;
  run.seconds = seconds;
  run.round = round;
  return run;
}

}  // namespace

TEST_CASE("A headline is the rival's time by the system's own: phases added up, medians of rounds",
          "[headlines]") {
  std::vector<replay::Run> runs = {run("create", "ext4", 3),    run("delete", "ext4", 1),
                                   run("create", "none", 1),    run("create", "none", 9, 2),
                                   run("create", "none", 1, 3), run("delete", "none", 1)};
  replay::Run other = run("create", "ext4", 100);
  other.workload += ", of another size";
  runs.push_back(other);

  const Publication paper = made_up();
  const auto rows = measured(paper, Size::small, runs);
  REQUIRE(rows.size() == 3);
  CHECK(*rows[0].ratio == Approx(2));
  CHECK(rows[0].rival_seconds == Approx(4));
  CHECK(verdict(rows[0]) == "as published");
  CHECK(*rows[1].ratio == Approx(1));
  CHECK(verdict(rows[1]) == "as published");
  CHECK_FALSE(rows[2].ratio);
  CHECK(verdict(rows[2]) == "not measured");
  CHECK(headline_table(paper, rows).find("1.5 to 3") != std::string::npos);
  CHECK(headline_markdown(paper, rows).find("cffs bench postmark --disk=raw --targets=ext4,none --files=7") !=
        std::string::npos);
}

TEST_CASE("Less and more than a paper says", "[headlines]") {
  const Publication paper = made_up();
  const auto verdict_of = [&](double own, std::size_t headline) {
    const auto rows = measured(paper, Size::small,
                               {run("create", "ext4", 1), run("delete", "ext4", 1),
                                run("create", "none", own), run("delete", "none", own)});
    return verdict(rows[headline]);
  };
  CHECK(verdict_of(1, 0) == "less");
  CHECK(verdict_of(0.1, 0) == "more");
  CHECK(verdict_of(0.5, 1) == "more");  // "below 1"
}

TEST_CASE("A step is run again until all of its targets are there", "[headlines]") {
  const Step step = made_up().steps[0];
  CHECK_FALSE(is_complete(step, Size::small, 1, {run("create", "ext4", 1)}));
  CHECK(is_complete(step, Size::small, 1, {run("create", "ext4", 1), run("create", "none", 1)}));
  CHECK_FALSE(is_complete(step, Size::tiny, 1, {run("create", "ext4", 1), run("create", "none", 1)}));
}

TEST_CASE("A step is run again until all of its targets have all rounds", "[headlines]") {
  const Step step = made_up().steps[0];
  std::vector<replay::Run> runs;
  for (const char* target : {"ext4", "none"}) {
    for (const char* phase : {"create", "delete"}) runs.push_back(run(phase, target, 1, 1));
  }
  CHECK(is_complete(step, Size::small, 1, runs));
  CHECK_FALSE(is_complete(step, Size::small, 2, runs));
  runs.push_back(run("create", "ext4", 1, 2));
  CHECK_FALSE(is_complete(step, Size::small, 2, runs));
  runs.push_back(run("create", "none", 1, 2));
  CHECK(is_complete(step, Size::small, 2, runs));
}

// What would otherwise be noticed after hours.
TEST_CASE("Each headline is of a step that runs both of its targets, and each step is a benchmark",
          "[headlines]") {
  for (const Publication& publication : publications("/srv/site")) {
    for (const Step& step : publication.steps) {
      REQUIRE(find_benchmark(step.benchmark) != nullptr);
      for (const auto* parameters : {&step.parameters, &step.given}) {
        for (const auto& [name, value] : *parameters) {
          const auto& known = find_benchmark(step.benchmark)->parameters;
          CHECK(std::any_of(known.begin(), known.end(),
                            [&, &name = name](const Parameter& p) { return p.name == name; }));
        }
      }
    }
    for (const Headline& headline : publication.headlines) {
      REQUIRE(headline.step < publication.steps.size());
      const auto& targets = publication.steps[headline.step].targets;
      CHECK(std::find(targets.begin(), targets.end(), headline.target) != targets.end());
      CHECK(std::find(targets.begin(), targets.end(), headline.rival) != targets.end());
      CHECK((headline.from > 0 || headline.to > 0));
      CHECK_FALSE(headline.phases.empty());
    }
  }
}

TEST_CASE(
    "runs of another size or on a disk of another size are other work, and keep what their phase says") {
  const Benchmark& fdtree = *find_benchmark("fdtree");
  const auto named = [&](Size size, std::uint64_t image_bytes) {
    SessionOptions options;
    options.size = size;
    options.image_bytes = image_bytes;
    return Session(fdtree, options).workload();
  };
  REQUIRE(named(Size::tiny, 0) != named(Size::small, 0));
  REQUIRE(named(Size::small, 0) != named(Size::paper, 0));
  REQUIRE(named(Size::small, 0) != named(Size::small, 1u << 30));
  Session session(fdtree, {});
  replay::Run run;
  run.phase = "small deep: file create";
  run.parameters["d"] = "2";
  session.add(run);
  REQUIRE(session.runs().at(0).parameters.at("d") == "2");
  REQUIRE(session.runs().at(0).parameters.at("size") == "small");
}

TEST_CASE("tables of several limits of memory are several tables") {
  std::vector<replay::Run> runs(3);
  runs[0].workload = "raw, 350 MB memory";
  runs[1].workload = "raw, 700 MB memory";
  runs[2].workload = "raw, 350 MB memory";
  const auto tables = runs_by_workload(runs);
  REQUIRE(tables.size() == 2);
  REQUIRE(tables[0].second == std::vector<const replay::Run*>{&runs[0], &runs[2]});
  REQUIRE(tables[1].second == std::vector<const replay::Run*>{&runs[1]});
}

TEST_CASE("a write that wrote less than it should is an error of a benchmark") {
  REQUIRE(whole(4096, 4096) == 4096);
  REQUIRE(whole(100, 4096) == -EIO);
  REQUIRE(whole(-ENOSPC, 4096) == -ENOSPC);
}

}  // namespace cffs::bench
