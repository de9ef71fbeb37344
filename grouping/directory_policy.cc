#include "grouping/directory_policy.h"

namespace cffs::grouping {

std::vector<Group> group_by_directory(const std::vector<Candidate>& candidates,
                                      const std::vector<bool>& taken, std::uint64_t max_bytes) {
  std::vector<Group> groups;
  std::uint64_t bytes = 0;
  const Candidate* before = nullptr;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!taken.empty() && taken[i]) continue;
    const bool same_directory = before != nullptr && candidates[i].directory == before->directory;
    if (!same_directory || bytes + candidates[i].size > max_bytes || groups.back().size() >= kMostMembers) {
      groups.emplace_back();
      bytes = 0;
    }
    before = &candidates[i];
    groups.back().push_back(i);
    bytes += candidates[i].size;
  }
  return groups;
}

void add_in_pieces(std::vector<Group>& groups, const Group& members, const std::vector<Candidate>& candidates,
                   std::uint64_t max_bytes) {
  std::uint64_t bytes = 0;
  bool open = false;
  for (const std::size_t i : members) {
    if (!open || bytes + candidates[i].size > max_bytes || groups.back().size() >= kMostMembers) {
      groups.emplace_back();
      bytes = 0;
      open = true;
    }
    groups.back().push_back(i);
    bytes += candidates[i].size;
  }
}

std::vector<Group> DirectoryPolicy::group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                                          const ReadContent&) const {
  return group_by_directory(candidates, {}, max_bytes);
}

}  // namespace cffs::grouping
