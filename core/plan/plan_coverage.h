// How much of a plan a store has files for: a plan of another tree groups nothing, and nobody would notice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/fs/file_system.h"
#include "grouping/plan_groups.h"

namespace cffs {

struct PlanCoverage {
  std::uint64_t files = 0;  // that the plan's groups name by path
  std::uint64_t found = 0;  // of them, in the store
  bool store_is_empty = false;

  // The plan was made for another tree, or with other paths. In an empty store the files may still come.
  bool is_strange() const { return files > 0 && found == 0 && !store_is_empty; }
  // "12 of 1736 files of the plan are in this store"
  std::string sentence() const;
};

// `has` says whether there is a regular file at a path relative to the root.
PlanCoverage plan_coverage(const grouping::PlanGroups& plan,
                           const std::function<bool(const std::string&)>& has);
// In a store that is open here. One look at a row for each path.
Result<PlanCoverage> plan_coverage(const grouping::PlanGroups& plan, FileSystem& fs);

// What a strange plan is refused with, by a command that takes --plan-ahead.
Error strange_plan(const std::string& plan_file, const PlanCoverage& coverage);

}  // namespace cffs
