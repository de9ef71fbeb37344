#include "bench/report/utilization_plots.h"

#include <map>

#include "bench/report/drawing.h"
#include "bench/report/line_plot.h"

namespace cffs::bench {

Result<std::vector<Plot>> draw_utilization(const Comparison& comparison, const std::string& prefix,
                                           const std::string& directory) {
  constexpr std::string_view kRate = "mb_per_s";
  std::map<std::string, LinePlot> figures;
  for (const PhaseResult& phase : comparison.phases) {
    const std::string what = phase.phase.substr(0, phase.phase.rfind(" at "));
    for (const TargetResult& target : phase.targets) {
      const auto full = target.metrics.find("utilization_percent");
      if (full == target.metrics.end()) continue;
      for (const auto& [metric, value] : target.metrics) {
        if (!metric.ends_with(kRate)) continue;
        std::string kind = metric.substr(0, metric.size() - kRate.size());
        if (!kind.empty()) kind.back() = ' ';  // read_ of read_mb_per_s
        const std::string title = what + (kind.empty() ? "" : ", " + kind.substr(0, kind.size() - 1));
        figures[title].lines[target.target][full->second] = value;
      }
    }
  }
  std::vector<Plot> plots;
  for (auto& [title, figure] : figures) {
    figure.name = prefix + "-over-utilization-" + plain(title);
    figure.title = title;
    figure.x_axis = "percent of the disk that objects take";
    figure.y_axis = "MB/s";
    figure.settings = "set xrange [0:100]\n";
    CFFS_TRY(Plot plot, draw_lines(figure, comparison, directory));
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace cffs::bench
