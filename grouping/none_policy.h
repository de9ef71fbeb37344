// TableFS as published: tiny files in the table, all others as blobs; no composites.
#pragma once

#include "grouping/policy.h"

namespace cffs::grouping {

class NonePolicy final : public Policy {
 public:
  PolicyId id() const override { return PolicyId::none; }
  std::string_view name() const override { return "none"; }
  bool makes_composites() const override { return false; }
  std::vector<Group> group(const std::vector<Candidate>&, std::uint64_t, const ReadContent&) const override {
    return {};
  }
};

}  // namespace cffs::grouping
