// A document with what it embeds (composite-file paper, reference mode; rules in reference/graph.h). What nobody embeds
// and embeds nothing is grouped by directory.
#pragma once

#include "grouping/policy.h"
#include "grouping/reference/graph.h"

namespace cffs::grouping {

class ReferencePolicy final : public Policy {
 public:
  // Hears of every document that group() reads, and where its references lead; numbers are candidates' `file`.
  using OnDocument = std::function<void(std::size_t candidate, const DocumentLinks&)>;

  explicit ReferencePolicy(ReferenceOptions options = {}, OnDocument on_document = {})
      : options_(std::move(options)), on_document_(std::move(on_document)) {}

  PolicyId id() const override { return PolicyId::reference; }
  std::string_view name() const override { return "reference"; }
  bool makes_composites() const override { return true; }
  const ReferenceOptions* references() const override { return &options_; }
  bool needs_paths() const override { return true; }
  std::vector<Group> group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                           const ReadContent& read) const override;

 private:
  const ReferenceOptions options_;
  const OnDocument on_document_;
};

}  // namespace cffs::grouping
