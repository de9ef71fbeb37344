// Comparisons as one HTML page that needs nothing else: tables, figures, where it was measured; light and dark.
#pragma once

#include <string>
#include <vector>

#include "bench/report/comparison.h"
#include "bench/report/plots.h"

namespace cffs::bench {

std::string html_page(const std::vector<Comparison>& comparisons,
                      const std::vector<std::vector<Plot>>& plots);

}  // namespace cffs::bench
