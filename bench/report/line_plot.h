// A line for each target through points: what the figures over a size or a share have in common.
#pragma once

#include <map>
#include <string>

#include "bench/report/comparison.h"
#include "bench/report/plots.h"

namespace cffs::bench {

struct LinePlot {
  std::string name, title;
  std::string x_axis, y_axis;
  std::string settings;  // further ones of gnuplot's, each with its line's end
  std::map<std::string, std::map<double, double>> lines;  // by target: y by x
};
Result<Plot> draw_lines(const LinePlot& plot, const Comparison& comparison, const std::string& directory);

}  // namespace cffs::bench
