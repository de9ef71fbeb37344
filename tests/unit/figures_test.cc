// Figures: what is drawn of results, which somebody else may have made.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "bench/report/comparison.h"
#include "bench/report/drawing.h"
#include "bench/report/growth_plots.h"
#include "bench/report/plots.h"
#include "bench/rig/process.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::bench::figures_test {
namespace {

using cffs::test::TemporaryDirectory;

replay::Run drawn_run(const std::string& phase, const std::string& target, unsigned round = 1) {
  replay::Run run;
  run.benchmark = "b";
  run.workload = "w";
  run.phase = phase;
  run.target = target;
  run.round = round;
  run.seconds = 1;
  run.operations = 1000;
  for (int i = 1; i < 100; ++i) run.latencies["open"].record(static_cast<std::uint64_t>(i) * 1000);
  run.timeline["operations"] = std::vector<double>(20, 3);
  return run;
}

std::string pictures(const std::vector<replay::Run>& runs, const std::string& directory) {
  std::string all;
  for (const Comparison& c : compare(runs, "")) {
    const auto plots = draw(c, directory);
    INFO((plots ? std::string() : plots.error().message()));
    REQUIRE(plots);
    for (const Plot& plot : *plots) all += plot.svg;
  }
  return all;
}

}  // namespace

TEST_CASE("words of gnuplot hold nothing that it expands, ends a line with or takes for its own",
          "[figures]") {
  CHECK(in_quotes("plain words") == "'plain words'");
  CHECK(in_quotes("`touch /tmp/p`") == "'`touch /tmp/p`'");
  for (const char* const quotes : {"it's", "''", "'; system 'touch /tmp/p'; '", "a''''; b"}) {
    const std::string word = in_quotes(quotes);
    CHECK(word.find('\'', 1) == word.size() - 1);
  }
  const std::string lines = in_quotes("one\nsystem 'x'\r\x1b[2J");
  for (const char c : lines) CHECK(static_cast<unsigned char>(c) >= 0x20);
  CHECK(tic_label("50 %") == "'50 %%'");
}

TEST_CASE("no command in somebody's results is run when they are drawn", "[figures]") {
  if (!is_installed("gnuplot")) return;
  const TemporaryDirectory directory;
  const std::string came = directory.path + "/came";
  const std::string back = "x`touch " + came + "`", quote = "'; system 'touch " + came + "'; '",
                    line = "x\nsystem 'touch " + came + "'\n", both = "\"; system \"touch " + came + "\"; \"";
  std::vector<replay::Run> runs;
  for (const std::string& odd : {back, quote, line, both}) {
    for (const std::string& target : {odd, std::string("ext4")}) {
      runs.push_back(drawn_run("phase " + odd, target));
      runs.back().metrics = {{"files", 10}, {"utilization_percent", 10}, {odd + "_mb_per_s", 5}};
      runs.push_back(drawn_run("create, to " + odd, target));
      runs.back().metrics = {{"files", 10}, {"resident_bytes", 2e6}};
    }
  }
  // Nor by the name of where it is written to.
  const std::string folder = directory.path + "/`touch came` it's \"here\"\n";
  CHECK_FALSE(pictures(runs, folder).empty());
  CHECK_FALSE(std::filesystem::exists(came));
  CHECK_FALSE(std::filesystem::exists("came"));
  std::size_t drawn = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CHECK(entry.file_size() > 0);
    drawn += entry.path().extension() == ".png" ? 1 : 0;
  }
  CHECK(drawn > 5);
}

TEST_CASE("names are drawn as they are", "[figures]") {
  if (!is_installed("gnuplot")) return;
  const std::string svg =
      pictures({drawn_run("a_phase@1", "directory@xfs"), drawn_run("a_phase@1", "dir:/a_b^c")}, "");
  CHECK(svg.find("cffs directory@xfs") == std::string::npos);
  CHECK(svg.find("directory@xfs") != std::string::npos);
  CHECK(svg.find("dir:/a_b^c") != std::string::npos);
  CHECK(svg.find("a_phase@1") != std::string::npos);
}

TEST_CASE("what was counted over the files there are is the median of the rounds", "[figures]") {
  if (!is_installed("gnuplot")) return;
  std::vector<replay::Run> runs;
  for (unsigned round = 1; round <= 3; ++round) {
    runs.push_back(drawn_run("create, to 10", "library", round));
    runs.back().metrics = {{"files", 10}, {"resident_bytes", round == 1 ? 1e6 : 3e6}};
  }
  const auto drawn = [&](const std::vector<replay::Run>& of) {
    const auto comparisons = compare(of, "");
    const auto plots = draw_growth(comparisons.front(), "b", "");
    REQUIRE(plots);
    for (const Plot& plot : *plots) {
      if (plot.name.ends_with("-memory")) return plot.svg;
    }
    return std::string();
  };
  // As if all three had shown it.
  std::vector<replay::Run> alike = runs;
  for (replay::Run& run : alike) run.metrics["resident_bytes"] = 3e6;
  CHECK_FALSE(drawn(runs).empty());
  CHECK(drawn(runs) == drawn(alike));
}

}  // namespace cffs::bench::figures_test
