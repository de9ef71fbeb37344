// What analyze --tune chooses, on logs whose best way is plain to see.
#include "replay/analysis/tuning.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "replay/analysis/observation.h"
#include "replay/analysis/trial.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

void get(std::ostream& log, int client, int second, const std::string& path, int bytes) {
  const int day = second / 86'400 + 1, at = second % 86'400;
  log << fmt::format("10.0.{}.{} - - [{:02}/Aug/1995:{:02}:{:02}:{:02} -0400] \"GET /{} HTTP/1.0\" 200 {}\n",
                     client / 250, client % 250, day, at / 3600, at / 60 % 60, at % 60, path, bytes);
}

}  // namespace

TEST_CASE("tuning chooses the least predicted latency on the tail, and says what no plan would cost") {
  // Pages of 40,000 bytes come in pairs from two directories; with each lies a file of 900,000 bytes that was read once.
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/log";
  std::ofstream log(path);
  constexpr int kPairs = 30, kReaders = 400;
  int second = 0;
  for (int p = 0; p < kPairs; ++p) {
    for (const char* side : {"a", "b"})
      get(log, second, second, fmt::format("{}{}/rare", side, p), 900'000), ++second;
  }
  for (int r = 0; r < kReaders; ++r) {
    for (const char* side : {"a", "b"})
      get(log, 1000 + r, second++, fmt::format("{}{}/page", side, r % kPairs), 40'000);
  }
  log.close();
  replay::AnalysisOptions options;
  replay::TuningOptions tuning;
  tuning.model.disk = *replay::find_disk("hdd");
  options.mining.exchange_bytes = tuning.model.disk.exchange_bytes();
  tuning.model.cache_bytes = 1 << 20;
  const auto tuned = replay::tune({path}, options, tuning, {});
  REQUIRE(tuned);
  REQUIRE(tuned->choices.size() == 24);
  REQUIRE(tuned->policies.size() == 2);
  REQUIRE(tuned->accesses == 2 * (kPairs + kReaders));
  REQUIRE(tuned->tail_accesses == kPairs + kReaders + 6 * (kPairs + kReaders) / 10);
  const auto ms = [&](const replay::Evaluation& e) { return e.ms_per_access(tuning.model.disk); };
  const replay::TuningChoice& best = tuned->choices[tuned->best];
  for (const auto& choice : tuned->choices) REQUIRE(ms(best.evaluation) <= ms(choice.evaluation) / 0.999);
  // Two pages in one read, where none and directory need two: the rare files are in nobody's way.
  REQUIRE(ms(best.evaluation) < 0.7 * ms(tuned->policies[0]));
  REQUIRE(tuned->better_policy(tuning.model.disk) == nullptr);
  for (const auto& choice : tuned->choices) {
    if (&choice == &best) break;
    REQUIRE(ms(choice.evaluation) > ms(best.evaluation));  // an earlier one would have won a tie
  }
}

TEST_CASE("where no group pays, tuning keeps tiny files in the table, as policy none does") {
  // Files of the table cost nothing, in a composite a read.
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/log";
  std::ofstream log(path);
  for (int i = 0; i < 300; ++i) get(log, i, i, fmt::format("d{}/tiny", i), 100);
  log.close();
  replay::AnalysisOptions options;
  replay::TuningOptions tuning;
  tuning.model.disk = *replay::find_disk("hdd");
  options.mining.exchange_bytes = tuning.model.disk.exchange_bytes();
  const auto tuned = replay::tune({path}, options, tuning, {});
  REQUIRE(tuned);
  const replay::TuningChoice& best = tuned->choices[tuned->best];
  REQUIRE(best.table_bytes == 4096);
  REQUIRE(best.algorithm == "none");  // of equals, the one that claims least
  REQUIRE(tuned->better_policy(tuning.model.disk) == nullptr);
  REQUIRE(best.evaluation.seeks == 0);
  for (const auto& choice : tuned->choices) {
    if (choice.table_bytes == 0) REQUIRE(choice.evaluation.seeks > 0);
  }
  options.mining.algorithm = best.algorithm;
  options.mining.table_bytes = best.table_bytes;
  const auto analysis = replay::analyse({path}, options, {});
  REQUIRE(analysis);
  REQUIRE(analysis->plan.table_bytes == 4096);
  REQUIRE(analysis->plan.groups.empty());
}

TEST_CASE("a log of malformed lines is refused by who judges policies as by who mines them") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/log";
  std::ofstream log(path);
  get(log, 1, 0, "a/page.html", 4000);
  for (int i = 0; i < 100; ++i) log << "no line of a log\n";
  log.close();
  replay::TrialOptions trial;
  trial.analysis.reader.format = replay::LogFormat::common;
  for (const double allowed : {0.1, 1.0}) {
    INFO("share of malformed lines: " << allowed);
    trial.analysis.max_bad = allowed;
    const bool good = allowed == 1.0;
    const auto judged = replay::observe({path}, trial.analysis, "", {});
    REQUIRE(judged.has_value() == good);
    if (!good) REQUIRE(judged.error().message().find("100 of 101 lines are malformed") != std::string::npos);
    REQUIRE(replay::analyse({path}, trial.analysis, {}).has_value() == good);
  }
}

}  // namespace cffs::test
