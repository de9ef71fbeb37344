// The small files of one directory, without its subdirectories (composite-file paper, directory mode), in the order in which they
// come: by name (adr/0035).
#pragma once

#include "grouping/policy.h"

namespace cffs::grouping {

class DirectoryPolicy final : public Policy {
 public:
  PolicyId id() const override { return PolicyId::directory; }
  std::string_view name() const override { return "directory"; }
  bool makes_composites() const override { return true; }
  std::vector<Group> group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                           const ReadContent& read) const override;
};

}  // namespace cffs::grouping
