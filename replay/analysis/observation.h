// All accesses of logs, as numbers of the files of a tree, for those who judge policies on one part of them by what another
// part taught. Memory: 24 bytes for each access, and the files.
#pragma once

#include <memory>

#include "grouping/plan_groups.h"
#include "grouping/policy.h"
#include "replay/analysis/analysis.h"

namespace cffs::replay {

using Progress = WorkTeller;

// Files of the tree in tree order, and the place of each logged file among them; files that the tree lacks are added.
struct ObservedTree {
  std::vector<grouping::Candidate> files;
  std::vector<grouping::Item> place_of;  // index: item of the log
  std::uint64_t missing = 0;
};

struct Observed {
  ObservedTree tree;
  std::vector<grouping::Access> accesses;  // of all logs, in their order
  LogFormat format = LogFormat::automatic;
};
// `tree`: a directory; empty: the files of the logs alone. What analyse() refuses of them (check_inputs) is refused.
Result<Observed> observe(const std::vector<std::string>& logs, const AnalysisOptions& options,
                         const std::string& tree, const Progress& on_progress);

// What mining finds in the first `count` accesses. ENOSPC: its temporary file could not be written.
Result<std::shared_ptr<grouping::PlanGroups>> mine(const Observed& observed, std::size_t count,
                                                   const AnalysisOptions& options,
                                                   const Progress& on_progress);

}  // namespace cffs::replay
