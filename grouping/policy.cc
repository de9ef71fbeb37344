#include "grouping/policy.h"

#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "grouping/none_policy.h"
#include "grouping/reference_policy.h"

namespace cffs::grouping {

std::unique_ptr<Policy> make_policy(std::string_view name) {
  if (name == "none") return std::make_unique<NonePolicy>();
  if (name == "directory") return std::make_unique<DirectoryPolicy>();
  if (name == "reference") return std::make_unique<ReferencePolicy>();
  if (name == "frequency") return std::make_unique<FrequencyPolicy>();
  return nullptr;
}

std::string policy_names() { return "none, directory, reference, frequency"; }

}  // namespace cffs::grouping
