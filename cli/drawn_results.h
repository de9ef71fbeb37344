// Results as figures and as a page.
#pragma once

#include <string>
#include <vector>

#include "bench/report/comparison.h"

namespace cffs::cli {

// Figures go to the directory `plot`, the page to `html`; empty: none. The runs must be there still.
Status draw_results(const std::vector<bench::Comparison>& comparisons, const std::string& plot,
                    const std::string& html);

}  // namespace cffs::cli
