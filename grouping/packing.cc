#include "grouping/packing.h"

namespace cffs::grouping {

std::vector<Pack> pack(std::vector<Group> groups, const std::vector<Candidate>& candidates,
                       std::uint64_t max_bytes, std::uint64_t first_room) {
  std::vector<Pack> packs(1);
  for (Group& group : groups) {
    std::uint64_t bytes = 0;
    for (const std::size_t i : group) bytes += candidates[i].size;
    const std::uint64_t room = packs.size() == 1 ? first_room : max_bytes;
    if (packs.back().bytes + bytes > room && (packs.size() == 1 || !packs.back().groups.empty())) {
      packs.emplace_back();
    }
    packs.back().bytes += bytes;
    packs.back().groups.push_back(std::move(group));
  }
  return packs;
}

}  // namespace cffs::grouping
