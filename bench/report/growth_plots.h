// What one tree cost at several sizes, over the number of its files (`cffs bench growth`).
#pragma once

#include <string>
#include <vector>

#include "bench/report/comparison.h"
#include "bench/report/plots.h"

namespace cffs::bench {

// A figure each for creates, cold stats, resident memory and mounting; none where no phase says how many files there were.
Result<std::vector<Plot>> draw_growth(const Comparison& comparison, const std::string& prefix,
                                      const std::string& directory);

}  // namespace cffs::bench
