// Which other files belong with those that became quiet: under the policy reference the documents that embed them and
// what these embed, under frequency the rest of their groups in the plan. The same for those that were renamed, and lie where they did.
//
// Only groups that concern the quiet files are looked at, through the reference index and the plan; the cost of a pass
// follows what has changed, not the size of the store. What is already together, and not of this pass, stays put; so does what cannot
// be read, and keeps nothing else from moving.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/reorganise/reference_index.h"
#include "core/reorganise/store_paths.h"
#include "grouping/plan_groups.h"
#include "grouping/policy.h"

namespace cffs {

class Affiliation {
 public:
  // `quiet`: with their contents. What belongs with them, or with the `renamed` ones, is added behind them. `paths` may be as old as the
  // pass: what they say costs a place in a group at most. `stopped`: EINTR between two documents.
  Affiliation(FileSystem& fs, const grouping::Policy& policy, std::int64_t quiet_before_ns,
              std::vector<FileToMove>& quiet, const std::vector<FileToMove>& renamed, StorePaths& paths,
              std::function<bool()> stopped = {});

  // Groups of the files, as indices into `quiet`; a file in none of them belongs with its directory.
  Result<std::vector<grouping::Group>> groups();

 private:
  using FileId = grouping::FileId;
  using Sought = std::pair<FileId, std::optional<EntryName>>;  // and where it was last known to be

  Status by_reference(const grouping::ReferenceOptions& options);
  Status by_plan(const grouping::PlanGroups& plan);
  Status examine_renamed(ReferenceIndex& index, const grouping::ReferenceOptions& options,
                         std::set<FileId>& touched);
  Status examine(const FileToMove& file, ReferenceIndex& index, const grouping::ReferenceOptions& options,
                 std::set<FileId>& touched);
  Status examine_mentioning(const FileToMove& file, std::set<FileId>& looked_at, ReferenceIndex& index,
                            const grouping::ReferenceOptions& options, std::set<FileId>& touched);
  Result<bool> is_gone(FileId file, const std::optional<EntryName>& at) const;
  Result<const FileToMove*> look(FileId file, std::optional<EntryName> at);
  Result<bool> has_to_stay(const Inode& inode) const;
  Result<bool> bring(FileId file, const std::optional<EntryName>& at);
  Result<bool> together(const std::vector<Sought>& files);
  Status gather(const std::vector<Sought>& files);

  FileSystem& fs_;
  const grouping::Policy& policy_;
  const std::int64_t quiet_before_ns_;
  std::vector<FileToMove>& files_;
  const std::vector<FileToMove>& renamed_;
  const std::function<bool()> stopped_;
  StorePaths& paths_;
  std::unordered_map<FileId, std::size_t> index_of_;  // into files_
  std::unordered_map<FileId, std::optional<FileToMove>> seen_;
  std::set<std::size_t> taken_;
  std::vector<grouping::Group> groups_;
  std::uint64_t brought_ = 0;  // bytes
};

}  // namespace cffs
