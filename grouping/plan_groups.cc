#include "grouping/plan_groups.h"

#include <algorithm>

namespace cffs::grouping {

PlanGroups::PlanGroups(const Plan& plan) : rest_bytes_(plan.rest_bytes), table_bytes_(plan.table_bytes) {
  for (const SelectedGroup& group : plan.groups) {
    std::vector<Member> members;
    for (const Item item : group.items) members.push_back({plan.files[item].path, 0});
    add_group(std::move(members), group.confidence);
  }
}

void PlanGroups::add_group(std::vector<Member> members, double share) {
  const std::size_t g = groups_.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].path.empty()) by_path_.emplace(members[i].path, MemberPosition{g, i});
    if (members[i].file != 0) by_file_.emplace(members[i].file, MemberPosition{g, i});
  }
  groups_.push_back(std::move(members));
  shares_.push_back(share > 0 ? std::min(share, 1.0) : 0);  // a file's NaN, too
}

double PlanGroups::share_around(std::uint64_t file) const {
  const auto it = by_file_.find(file);
  return file != 0 && it != by_file_.end() ? shares_[it->second.group] : 0;
}

void PlanGroups::bind(MemberPosition at, std::uint64_t file) {
  groups_[at.group][at.position].file = file;
  by_file_[file] = at;
}

std::optional<PlanGroups::MemberPosition> PlanGroups::find(std::uint64_t file,
                                                           const std::string& path) const {
  if (const auto it = by_file_.find(file); file != 0 && it != by_file_.end()) return it->second;
  if (const auto it = by_path_.find(path); it != by_path_.end()) return it->second;
  return {};
}

}  // namespace cffs::grouping
