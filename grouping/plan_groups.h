// The groups of a plan as a store uses them: found by path, and by inode for files that were renamed since.
//
// A plan speaks of paths; once a file was found at its path it is bound to its inode too. A file that was replaced keeps
// its place by path, one that was renamed by inode, one that was deleted leaves a gap. Thread safety: const methods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "grouping/plan.h"

namespace cffs::grouping {

class PlanGroups {
 public:
  struct Member {
    std::string path;        // may be empty where only the inode is known
    std::uint64_t file = 0;  // inode; 0: not bound
  };
  struct MemberPosition {
    std::size_t group = 0, position = 0;
    friend auto operator<=>(const MemberPosition&, const MemberPosition&) = default;
  };

  PlanGroups() = default;
  explicit PlanGroups(const Plan& plan);

  // `share`: of the group's bytes, what those used who touched it, by the plan's confidence; 0: not known.
  void add_group(std::vector<Member> members, double share = 0);
  void bind(MemberPosition at, std::uint64_t file);

  // By inode first: a file that moved keeps its place even where another has taken its name.
  std::optional<MemberPosition> find(std::uint64_t file, const std::string& path) const;
  // Of the group that a file is bound to; 0: of none, or not known.
  double share_around(std::uint64_t file) const;
  // Of files without a place here; nullopt: the policy decides.
  void set_rest_bytes(std::optional<std::uint64_t> bytes) { rest_bytes_ = bytes; }
  std::optional<std::uint64_t> rest_bytes() const { return rest_bytes_; }
  // Files of at most so many bytes are in no group, whatever these say: they stay in the table.
  void set_table_bytes(std::uint64_t bytes) { table_bytes_ = bytes; }
  std::uint64_t table_bytes() const { return table_bytes_; }
  const std::vector<Member>& members(std::size_t group) const { return groups_[group]; }
  double share(std::size_t group) const { return shares_[group]; }
  std::size_t size() const { return groups_.size(); }

 private:
  std::vector<std::vector<Member>> groups_;
  std::vector<double> shares_;  // of groups_, 0 to 1
  std::optional<std::uint64_t> rest_bytes_;
  std::uint64_t table_bytes_ = 0;
  std::unordered_map<std::string, MemberPosition> by_path_;
  std::unordered_map<std::uint64_t, MemberPosition> by_file_;
};

}  // namespace cffs::grouping
