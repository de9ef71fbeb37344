// Packs groups into composites: neighbours share one as long as it stays below the maximum, so that a tree of
// many small directories does not become a tree of many small composites.
#pragma once

#include "grouping/policy.h"

namespace cffs::grouping {

struct Pack {
  std::vector<Group> groups;
  std::uint64_t bytes = 0;
};

// `first_room` is what the first pack may hold (the rest of a composite already begun); later ones hold
// max_bytes.
std::vector<Pack> pack(std::vector<Group> groups, const std::vector<Candidate>& candidates,
                       std::uint64_t max_bytes, std::uint64_t first_room);

}  // namespace cffs::grouping
