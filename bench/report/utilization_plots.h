// Throughput over how full the disk is, as OBFS's figures have it (`cffs bench obfs-micro`, `obfs-1`, `obfs-2`).
#pragma once

#include <string>
#include <vector>

#include "bench/report/comparison.h"
#include "bench/report/plots.h"

namespace cffs::bench {

// A figure for each kind of request; none where no phase says how full its disk was.
Result<std::vector<Plot>> draw_utilization(const Comparison& comparison, const std::string& prefix,
                                           const std::string& directory);

}  // namespace cffs::bench
