#include "bench/report/growth_plots.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "bench/report/drawing.h"

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
  const auto& metrics = target.runs.front()->metrics;
  const auto it = metrics.find(quantity.metric);
  if (it == metrics.end() || it->second == 0) return {};
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
        const auto& metrics = target.runs.front()->metrics;
        const auto files = metrics.find("files");
        const auto value = value_of(target, quantity);
        if (files != metrics.end() && value) lines[target.target][files->second] = *value;
      }
    }
    if (lines.empty()) continue;
    Drawing d(prefix + "-growth-" + quantity.name, quantity.title);
    std::string drawn;
    for (const auto& [target, points] : lines) {
      const auto at =
          static_cast<std::size_t>(std::find(comparison.targets.begin(), comparison.targets.end(), target) -
                                   comparison.targets.begin());
      d.script += fmt::format("$t{} << EOD\n", at);
      for (const auto& [files, value] : points) d.script += fmt::format("{} {}\n", files, value);
      d.script += "EOD\n";
      drawn += fmt::format(
          "{}$t{} using 1:2 with linespoints pointtype 7 pointsize 0.7 linewidth 2 linecolor rgb '{}' title "
          "{}",
          drawn.empty() ? "" : ", ", at, colour_of(target, at), in_quotes(title_of(target)));
    }
    d.script += fmt::format(
        "set logscale x\nset xlabel 'files'\nset ylabel '{}'\nset yrange [0:*]\nset format x '%.0s%c'\nset "
        "format y "
        "'%.0s%c'\nplot {}",
        quantity.axis, drawn);
    CFFS_TRY(Plot plot, d.draw(directory));
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace cffs::bench
