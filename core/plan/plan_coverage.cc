#include "core/plan/plan_coverage.h"

#include "core/reorganise/store_paths.h"

namespace cffs {

std::string PlanCoverage::sentence() const {
  return std::to_string(found) + " of " + std::to_string(files) + " files of the plan are in this store";
}

PlanCoverage plan_coverage(const grouping::PlanGroups& plan,
                           const std::function<bool(const std::string&)>& has) {
  PlanCoverage coverage;
  for (std::size_t g = 0; g < plan.size(); ++g) {
    for (const auto& member : plan.members(g)) {
      if (member.path.empty()) continue;
      ++coverage.files;
      if (has(member.path)) ++coverage.found;
    }
  }
  return coverage;
}

Result<PlanCoverage> plan_coverage(const grouping::PlanGroups& plan, FileSystem& fs) {
  StorePaths paths(fs);
  PlanCoverage coverage =
      plan_coverage(plan, [&](const std::string& path) { return paths.find(path).has_value(); });
  coverage.store_is_empty = true;
  CFFS_TRY_VOID(fs.readdir(kRootInode, 0, false, [&](const DirectoryEntry& e) {
    coverage.store_is_empty = e.name == "." || e.name == "..";
    return coverage.store_is_empty;
  }));
  return coverage;
}

Error strange_plan(const std::string& plan_file, const PlanCoverage& coverage) {
  return Error::usage("plan " + plan_file + " is of another tree: " + coverage.sentence() +
                      "; cffs analyze --below or --prefix maps its paths, --plan-ahead takes it as it is");
}

}  // namespace cffs
