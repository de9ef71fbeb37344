#include "grouping/frequency_policy.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace cffs::grouping {

std::vector<Group> FrequencyPolicy::group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                                          const ReadContent&) const {
  std::vector<bool> taken(candidates.size());
  std::map<PlanGroups::MemberPosition, std::size_t> placed;  // in the order of the plan
  for (std::size_t i = 0; plan_ && i < candidates.size(); ++i) {
    const auto place = plan_->find(candidates[i].file, candidates[i].path);
    if (place && placed.emplace(*place, i).second) taken[i] = true;
  }
  std::vector<Group> groups;
  Group members;
  for (auto it = placed.begin(); it != placed.end(); ++it) {
    members.push_back(it->second);
    const auto next = std::next(it);
    if (next != placed.end() && next->first.group == it->first.group) continue;
    add_in_pieces(groups, members, candidates, std::min(max_bytes, kGroupBytes));
    members.clear();
  }
  const std::uint64_t rest_bytes = plan_ ? plan_->rest_bytes().value_or(max_bytes) : max_bytes;
  std::vector<Group> rest = group_by_directory(candidates, taken, std::min(max_bytes, rest_bytes));
  groups.insert(groups.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return groups;
}

}  // namespace cffs::grouping
