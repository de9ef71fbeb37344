// Which small files belong together. A policy is a pure function from candidate files to ordered groups; it
// knows neither LevelDB nor FUSE. Packing groups into composites is separate (grouping/packing.h), so that a
// policy cannot make a composite too large.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::grouping {

// Never renumber: composites remember the policy that made them.
enum class PolicyId : std::uint8_t { none = 0, directory = 1 };

struct Candidate {
  std::uint64_t directory = 0;  // equal for files of one directory
  std::uint64_t size = 0;       // bytes
};

// Indices of candidates, in the order in which they are to lie.
using Group = std::vector<std::size_t>;

class Policy {
 public:
  virtual ~Policy() = default;
  virtual PolicyId id() const = 0;
  virtual std::string_view name() const = 0;
  // Whether small files leave the table at all.
  virtual bool makes_composites() const = 0;
  // Candidates come in readdir order, directories in tree order. Every candidate is in exactly one group; no
  // group holds more than max_bytes, unless it is a single file.
  virtual std::vector<Group> group(const std::vector<Candidate>& candidates,
                                   std::uint64_t max_bytes) const = 0;
};

// Null: no such policy.
std::unique_ptr<Policy> make_policy(std::string_view name);
// The names make_policy knows, for messages.
std::string policy_names();

}  // namespace cffs::grouping
