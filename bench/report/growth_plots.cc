#include "bench/report/growth_plots.h"

#include <map>
#include <optional>
#include <utility>

#include "bench/report/line_plot.h"

namespace cffs::bench {
namespace {

struct Quantity {
  const char *name, *title, *axis;
  const char* phases;  // what their names begin with
  const char* metric;  // empty: operations a second
  double unit = 1;
};
constexpr Quantity kQuantities[] = {
    {"creates", "Creates, over the files there are", "creates/s", "create, to", "", 1},
    {"stats", "Stat at random, cold, over the files there are", "stats/s", "stat, of", "", 1},
    {"memory", "Resident after the creates, over the files there are", "MB", "create, to", "resident_bytes",
     1e6},
    {"mounts", "Mounting, over the files there are", "ms", "stat, of", "mount_s", 1e-3},
};

// Nothing where the phase has no such figure.
std::optional<double> value_of(const TargetResult& target, const Quantity& quantity) {
  if (*quantity.metric == 0) return target.rate.value;
  const auto it = target.metrics.find(quantity.metric);
  if (it == target.metrics.end() || it->second == 0) return {};
  return it->second / quantity.unit;
}

}  // namespace

Result<std::vector<Plot>> draw_growth(const Comparison& comparison, const std::string& prefix,
                                      const std::string& directory) {
  std::vector<Plot> plots;
  for (const Quantity& quantity : kQuantities) {
    std::map<std::string, std::map<double, double>> lines;
    for (const PhaseResult& phase : comparison.phases) {
      if (!phase.phase.starts_with(quantity.phases)) continue;
      for (const TargetResult& target : phase.targets) {
        const auto files = target.metrics.find("files");
        const auto value = value_of(target, quantity);
        if (files != target.metrics.end() && value) lines[target.target][files->second] = *value;
      }
    }
    if (lines.empty()) continue;
    const LinePlot figure{prefix + "-growth-" + quantity.name,       quantity.title,  "files", quantity.axis,
                          "set logscale x\nset format x '%.0s%c'\n", std::move(lines)};
    CFFS_TRY(Plot plot, draw_lines(figure, comparison, directory));
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace cffs::bench
