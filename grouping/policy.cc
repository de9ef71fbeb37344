#include "grouping/policy.h"

#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "grouping/none_policy.h"
#include "grouping/reference_policy.h"

namespace cffs::grouping {

std::vector<Group> group_larger(const Policy& policy, const std::vector<Candidate>& candidates,
                                std::uint64_t table_bytes, std::uint64_t max_bytes, const ReadContent& read) {
  if (table_bytes == 0) return policy.group(candidates, max_bytes, read);
  std::vector<Candidate> larger;
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].size <= table_bytes) continue;
    larger.push_back(candidates[i]);
    index.push_back(i);
  }
  auto groups = policy.group(larger, max_bytes, [&](std::size_t i) { return read(index[i]); });
  for (Group& group : groups) {
    for (std::size_t& member : group) member = index[member];
  }
  return groups;
}

std::unique_ptr<Policy> make_policy(std::string_view name) {
  if (name == "none") return std::make_unique<NonePolicy>();
  if (name == "directory") return std::make_unique<DirectoryPolicy>();
  if (name == "reference") return std::make_unique<ReferencePolicy>();
  if (name == "frequency") return std::make_unique<FrequencyPolicy>();
  return nullptr;
}

std::string_view name_of(PolicyId id) {
  switch (id) {
    case PolicyId::none:
      return "none";
    case PolicyId::directory:
      return "directory";
    case PolicyId::reference:
      return "reference";
    case PolicyId::frequency:
      return "frequency";
  }
  return "unknown";
}

std::string policy_names() { return "none, directory, reference, frequency"; }

}  // namespace cffs::grouping
