#include "bench/suite/reads_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "replay/results/statistics.h"

namespace cffs::bench {
namespace {

struct ReadsLine {
  std::string phase, target;
  std::vector<double> rate, reads, read_mb, held, share, import_s;
};

double figure_of(const replay::Run& run, const char* name) {
  const auto found = run.metrics.find(name);
  return found == run.metrics.end() ? 0 : found->second;
}

}  // namespace

void print_reads_summary(const Session& session) {
  std::vector<ReadsLine> lines;  // in the order in which they ran first
  for (const replay::Run& run : session.runs()) {
    if (run.workload != session.workload()) continue;  // of another limit of memory
    auto line = std::find_if(lines.begin(), lines.end(), [&](const ReadsLine& l) {
      return l.phase == run.phase && l.target == run.target;
    });
    if (line == lines.end())
      line = lines.insert(lines.end(), {run.phase, run.target, {}, {}, {}, {}, {}, {}});
    line->rate.push_back(run.rate());
    line->reads.push_back(figure_of(run, "device_reads"));
    line->read_mb.push_back(figure_of(run, "device_read_bytes") / 1e6);
    line->held.push_back(figure_of(run, "held_bytes") / 1e6);
    line->share.push_back(figure_of(run, "held_bytes") / std::max(1.0, figure_of(run, "tree_bytes")));
    line->import_s.push_back(figure_of(run, "import_s"));
  }
  std::map<std::string, double> of_ext4;  // files a second, by phase
  for (const ReadsLine& line : lines) {
    if (line.target == "ext4") of_ext4[line.phase] = replay::median_of(line.rate);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const ReadsLine& a, const ReadsLine& b) { return a.phase < b.phase; });
  fmt::print("\n{:<34} {:<18} {:>9} {:>8} {:>9} {:>9} {:>8} {:>9} {:>8}\n", "medians", "target", "MB held",
             "of tree", "import s", "files/s", "reads", "MB read", "of ext4");
  for (const ReadsLine& line : lines) {
    const double rate = replay::median_of(line.rate), base = of_ext4[line.phase];
    fmt::print("{:<34} {:<18} {:>9.1f} {:>8.3f} {:>9.2f} {:>9.0f} {:>8.0f} {:>9.1f} {:>8}\n", line.phase,
               line.target, replay::median_of(line.held), replay::median_of(line.share),
               replay::median_of(line.import_s), rate, replay::median_of(line.reads),
               replay::median_of(line.read_mb), base > 0 ? fmt::format("{:.2f}", rate / base) : "-");
  }
}

}  // namespace cffs::bench
