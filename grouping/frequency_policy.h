// Groups mined from accesses, taken from a plan (composite-file paper, frequency mode). Files without a place in the
// plan are grouped by directory, in groups as large as the plan says; it may say that they are alone, and
// up to which size files stay in the table.
#pragma once

#include "grouping/plan_groups.h"
#include "grouping/policy.h"

namespace cffs::grouping {

class FrequencyPolicy final : public Policy {
 public:
  // Null: no plan yet.
  explicit FrequencyPolicy(std::shared_ptr<const PlanGroups> plan = nullptr) : plan_(std::move(plan)) {}

  PolicyId id() const override { return PolicyId::frequency; }
  std::string_view name() const override { return "frequency"; }
  bool makes_composites() const override { return true; }
  std::shared_ptr<const PlanGroups> plan() const override { return plan_; }
  std::uint64_t table_bytes() const override { return plan_ ? plan_->table_bytes() : 0; }
  double share_around(std::uint64_t file) const override { return plan_ ? plan_->share_around(file) : 0; }
  bool needs_paths() const override { return plan_ != nullptr; }
  std::vector<Group> group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                           const ReadContent& read) const override;

 private:
  const std::shared_ptr<const PlanGroups> plan_;
};

}  // namespace cffs::grouping
