#include "grouping/directory_policy.h"

namespace cffs::grouping {

std::vector<Group> DirectoryPolicy::group(const std::vector<Candidate>& candidates,
                                          std::uint64_t max_bytes) const {
  std::vector<Group> groups;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool same_directory = i > 0 && candidates[i].directory == candidates[i - 1].directory;
    if (groups.empty() || !same_directory || bytes + candidates[i].size > max_bytes) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(i);
    bytes += candidates[i].size;
  }
  return groups;
}

}  // namespace cffs::grouping
