// Results as SQLite files (docs/MEASURING.md): runs are added, never changed.
#pragma once

#include "core/base/error.h"
#include "replay/results/run.h"

namespace cffs::replay {

inline constexpr int kResultsVersion = 1;

// Makes the file where it is not there. All runs or none. With no runs: whether some can be added, to be asked before long work.
Status add_results(const std::string& path, const std::vector<Run>& runs);
Result<std::vector<Run>> read_results(const std::string& path);

}  // namespace cffs::replay
