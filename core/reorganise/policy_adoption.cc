#include "core/reorganise/policy_adoption.h"

#include <utility>

#include "core/reorganise/plan_object.h"
#include "core/reorganise/store_paths.h"
#include "grouping/frequency_policy.h"

namespace cffs {
namespace {

void bind_to_files(FileSystem& fs, const grouping::PlanGroups& plan, grouping::PlanGroups& bound) {
  StorePaths paths(fs);
  for (std::size_t group = 0; group < plan.size(); ++group) {
    for (const auto& member : plan.members(group)) {
      if (member.path.empty()) continue;
      const auto file = paths.find(member.path);
      if (!file) continue;
      // A file that was renamed to this path keeps the place that it has by its number.
      const auto planned = plan.find(*file, member.path);
      if (planned && plan.members(planned->group)[planned->position].path == member.path)
        bound.bind(*planned, *file);
    }
  }
}

}  // namespace

Status adopt_policy(FileSystem& fs, std::shared_ptr<const grouping::Policy> policy) {
  const auto plan = policy->plan();
  if (!plan) {
    fs.set_policy(std::move(policy));
    return {};
  }
  auto bound = std::make_shared<grouping::PlanGroups>(*plan);
  bind_to_files(fs, *plan, *bound);
  CFFS_TRY_VOID(write_plan_object(fs.objects(), *bound));
  fs.set_policy(std::make_shared<grouping::FrequencyPolicy>(std::move(bound)));
  return {};
}

}  // namespace cffs
