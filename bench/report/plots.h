// Figures of comparisons, drawn by gnuplot.
//
// Drawn as SVG without a ground of their own, in colours that are readable on light and dark, black turned into the colour of
// the text around; and as PNG on white.
#pragma once

#include <string>
#include <vector>

#include "bench/report/comparison.h"
#include "core/base/error.h"

namespace cffs::bench {

struct Plot {
  std::string name;   // of its files, without ending
  std::string title;  // what it shows
  std::string svg;
};

// Bars of all phases: throughput, and the device's requests and bytes where they were counted; for each phase with single latencies
// their distribution and percentiles; for each that was long enough throughput over time. Files NAME.svg and NAME.png are written
// where `directory` is given.
Result<std::vector<Plot>> draw(const Comparison& comparison, const std::string& directory);

}  // namespace cffs::bench
