#include "bench/report/line_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/report/drawing.h"

namespace cffs::bench {

Result<Plot> draw_lines(const LinePlot& plot, const Comparison& comparison, const std::string& directory) {
  Drawing d(plot.name, plot.title);
  std::string drawn;
  for (const auto& [target, points] : plot.lines) {
    const auto at = static_cast<std::size_t>(
        std::find(comparison.targets.begin(), comparison.targets.end(), target) - comparison.targets.begin());
    d.script += fmt::format("$t{} << EOD\n", at);
    for (const auto& [x, y] : points) d.script += fmt::format("{} {}\n", x, y);
    d.script += "EOD\n";
    drawn += fmt::format(
        "{}$t{} using 1:2 with linespoints pointtype 7 pointsize 0.7 linewidth 2 linecolor rgb '{}' {}",
        drawn.empty() ? "" : ", ", at, colour_of(target, at), line_title(target));
  }
  d.script += fmt::format("set xlabel {}\nset ylabel {}\nset yrange [0:*]\nset format y '%.0s%c'\n{}plot {}",
                          in_quotes(plot.x_axis), in_quotes(plot.y_axis), plot.settings, drawn);
  return d.draw(directory);
}

}  // namespace cffs::bench
