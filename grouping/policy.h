// Which small files belong together. A policy is a pure function from candidate files to ordered groups; it
// knows neither LevelDB nor FUSE. Packing groups into composites is separate (grouping/packing.h), so that a
// policy cannot make a composite too large.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cffs::grouping {

// Never renumber: composites remember the policy that made them.
enum class PolicyId : std::uint8_t { none = 0, directory = 1, reference = 2, frequency = 3 };

struct Candidate {
  std::uint64_t directory = 0;  // equal for files of one directory
  std::uint64_t size = 0;       // bytes
  std::string path;             // relative to the root; may be empty where the policy does not look at it
  std::uint64_t file = 0;       // number that stays the same when the file is renamed (its inode); 0: none
  std::uint64_t place = 0;      // not 0: equal for files that lie in one group now
};

// Contents are asked for only by policies that read them, and only of documents. nullopt: cannot be read now.
using ReadContent = std::function<std::optional<std::string>(std::size_t candidate)>;

// A group of more files than this is cut: what is moved in one step has to stay small.
inline constexpr std::size_t kMostMembers = 1024;
// A group worth reading whole is no larger; composites hold several.
inline constexpr std::uint64_t kGroupBytes = 1u << 20;

// Indices of candidates, in the order in which they are to lie.
using Group = std::vector<std::size_t>;

class PlanGroups;
struct ReferenceOptions;

class Policy {
 public:
  virtual ~Policy() = default;
  virtual PolicyId id() const = 0;
  virtual std::string_view name() const = 0;
  // Whether small files leave the table at all.
  virtual bool makes_composites() const = 0;
  // What makes files belong together wherever they lie, for those who follow single files as they change: the groups of a
  // plan (null: there is none), the rules by which documents embed others (null: they do not count).
  virtual std::shared_ptr<const PlanGroups> plan() const { return nullptr; }
  virtual const ReferenceOptions* references() const { return nullptr; }
  // Of a policy that makes composites: files of at most so many bytes stay in the table, out of all groups. A store keeps none
  // there that is larger than its inline_max.
  virtual std::uint64_t table_bytes() const { return 0; }
  // Of the bytes of the file's group, what is wanted by who comes to it, as far as a plan says; 0: not known.
  virtual double share_around(std::uint64_t /*file*/) const { return 0; }
  // Whether group() looks at paths.
  virtual bool needs_paths() const { return false; }
  // Candidates come directory by directory, in tree order, those of one by name. Every candidate is in exactly one group (none,
  // whose files stay out of composites, makes no groups); no group holds more than max_bytes, unless it is a single file, or more
  // than kMostMembers files.
  virtual std::vector<Group> group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                                   const ReadContent& read) const = 0;
};

// The policy's groups of those candidates that are larger than `table_bytes`; the others are in none.
std::vector<Group> group_larger(const Policy& policy, const std::vector<Candidate>& candidates,
                                std::uint64_t table_bytes, std::uint64_t max_bytes, const ReadContent& read);
// The directory policy over the candidates that `taken` does not mark; policies use it for the rest. Where a directory is too
// large for one group it is cut between files that do not lie together now, if that can be.
std::vector<Group> group_by_directory(const std::vector<Candidate>& candidates,
                                      const std::vector<bool>& taken, std::uint64_t max_bytes);
// Cuts a group where it gets too large, keeping the order.
void add_in_pieces(std::vector<Group>& groups, const Group& members, const std::vector<Candidate>& candidates,
                   std::uint64_t max_bytes);

// Null: no such policy. Made by name alone a policy has its defaults; frequency then has no plan and is directory's
// equal until it gets one.
std::unique_ptr<Policy> make_policy(std::string_view name);
// "unknown": no policy has that number.
std::string_view name_of(PolicyId id);
// The names make_policy knows, for messages.
std::string policy_names();

}  // namespace cffs::grouping
