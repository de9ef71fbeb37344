#include "grouping/directory_policy.h"

namespace cffs::grouping {

namespace {

struct Extent {
  std::uint64_t bytes = 0;
  std::size_t files = 0;

  bool fits_with(const Extent& more, std::uint64_t max_bytes) const {
    return bytes + more.bytes <= max_bytes && files + more.files <= kMostMembers;
  }
};

}  // namespace

std::vector<Group> group_by_directory(const std::vector<Candidate>& candidates,
                                      const std::vector<bool>& taken, std::uint64_t max_bytes) {
  const auto is_taken = [&](std::size_t i) { return !taken.empty() && taken[i]; };
  // The candidates from `begin` on that lie together.
  const auto lying_together = [&](std::size_t begin) {
    Extent found;
    for (std::size_t i = begin; i < candidates.size(); ++i) {
      if (is_taken(i)) continue;
      const bool same = candidates[i].directory == candidates[begin].directory &&
                        candidates[i].place == candidates[begin].place;
      if (!same) break;
      found.bytes += candidates[i].size;
      ++found.files;
    }
    return found;
  };
  std::vector<Group> groups;
  Extent group;
  const Candidate* before = nullptr;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_taken(i)) continue;
    const Candidate& here = candidates[i];
    const bool same_directory = before != nullptr && here.directory == before->directory;
    bool cut = !same_directory || !group.fits_with({here.size, 1}, max_bytes);
    if (!cut && here.place != 0 && here.place != before->place) {
      const Extent together = lying_together(i);
      cut = !group.fits_with(together, max_bytes) && Extent().fits_with(together, max_bytes);
    }
    if (cut) {
      groups.emplace_back();
      group = {};
    }
    before = &here;
    groups.back().push_back(i);
    group.bytes += here.size;
    ++group.files;
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
