#include "core/reorganise/affiliation.h"

#include <algorithm>

#include "core/fs/kept_in_table.h"
#include "core/reorganise/quiet_file.h"
#include "core/table/table.h"
#include "grouping/reference/graph.h"

namespace cffs {

Affiliation::Affiliation(FileSystem& fs, const grouping::Policy& policy, std::int64_t quiet_before_ns,
                         std::vector<FileToMove>& quiet, const std::vector<FileToMove>& renamed,
                         StorePaths& paths, std::function<bool()> stopped)
    : fs_(fs),
      policy_(policy),
      quiet_before_ns_(quiet_before_ns),
      files_(quiet),
      renamed_(renamed),
      stopped_(std::move(stopped)),
      paths_(paths) {
  for (std::size_t i = 0; i < quiet.size(); ++i) index_of_.emplace(quiet[i].inode.ino.value, i);
}

Result<std::vector<grouping::Group>> Affiliation::groups() {
  if (const auto* references = policy_.references()) CFFS_TRY_VOID(by_reference(*references));
  if (const auto plan = policy_.plan()) CFFS_TRY_VOID(by_plan(*plan));
  return std::move(groups_);
}

Status Affiliation::by_reference(const grouping::ReferenceOptions& options) {
  ReferenceIndex index(fs_.table(), options);
  std::set<FileId> touched;
  const std::size_t own = files_.size();
  for (std::size_t i = 0; i < own; ++i) touched.insert(files_[i].inode.ino.value);
  for (std::size_t i = 0; i < own; ++i) CFFS_TRY_VOID(examine(files_[i], index, options, touched));
  std::set<FileId> looked_at;
  for (std::size_t i = 0; i < own; ++i) {
    CFFS_TRY_VOID(examine_mentioning(files_[i], looked_at, index, options, touched));
  }
  CFFS_TRY_VOID(examine_renamed(index, options, touched));
  for (const FileToMove& file : renamed_) {
    CFFS_TRY_VOID(examine_mentioning(file, looked_at, index, options, touched));
  }

  std::set<grouping::Placement> groups;
  for (const FileId file : touched) {
    if (const auto placement = grouping::placement_of(file, index, options)) {
      groups.insert(*placement);
    } else if (!index_of_.contains(file)) {
      (void)bring(file, index.name_of(file));  // dropped by its document: back to its directory
    }
  }
  for (const grouping::Placement& group : groups) {
    CFFS_TRY(const bool gone, is_gone(group.head, index.name_of(group.head)));
    if (gone) {  // its files find another place
      CFFS_TRY_VOID(index.forget(group.head, touched));
      continue;
    }
    std::vector<Sought> members;
    for (const FileId file : grouping::members_of(group, index, options)) {
      members.emplace_back(file, index.name_of(file));
    }
    CFFS_TRY_VOID(gather(members));
  }
  return {};
}

Status Affiliation::by_plan(const grouping::PlanGroups& plan) {
  std::set<std::size_t> wanted;
  const auto want = [&](const FileToMove& file) -> Status {
    CFFS_TRY(const auto path, paths_.path_of(file.at));
    if (!path) return {};
    if (const auto planned = plan.find(file.inode.ino.value, *path)) wanted.insert(planned->group);
    return {};
  };
  for (const FileToMove& file : files_) CFFS_TRY_VOID(want(file));
  for (const FileToMove& file : renamed_) CFFS_TRY_VOID(want(file));
  for (const std::size_t group : wanted) {
    std::vector<Sought> members;
    for (const auto& member : plan.members(group)) {
      const auto by_path = member.path.empty() ? std::nullopt : paths_.find(member.path);
      const FileId file =
          member.file != 0 && (!by_path || *by_path == member.file) ? member.file : by_path.value_or(0);
      if (file != 0) members.emplace_back(file, paths_.name_of(file));
    }
    CFFS_TRY_VOID(gather(members));
  }
  return {};
}

Status Affiliation::examine(const FileToMove& file, ReferenceIndex& index,
                            const grouping::ReferenceOptions& options, std::set<FileId>& touched) {
  const grouping::DocumentKind kind = grouping::document_kind(file.at.name);
  if (kind == grouping::DocumentKind::none) return {};
  if (stopped_ && stopped_()) return fail(EINTR, "the store is being closed");
  CFFS_TRY(const auto path, paths_.path_of(file.at));
  if (!path) return {};
  const auto links =
      grouping::links_of(file.inode.ino.value, *path, grouping::extract(kind, file.content), options, paths_);
  return index.replace(
      file.inode.ino.value, file.at, kind == grouping::DocumentKind::html, links,
      [&](FileId target) { return paths_.name_of(target); }, touched);
}

// Files that nobody embeds yet may be what earlier documents have been waiting for.
Status Affiliation::examine_mentioning(const FileToMove& file, std::set<FileId>& looked_at,
                                       ReferenceIndex& index, const grouping::ReferenceOptions& options,
                                       std::set<FileId>& touched) {
  constexpr std::size_t kMostDocuments = 32;
  if (index.owner(file.inode.ino.value)) return {};
  const auto documents = index.mentioning(grouping::stem_of(file.at.name), kMostDocuments);
  if (!documents && documents.error().is_damage()) return {};
  if (!documents) return fail(documents.error());
  for (const auto& [number, at] : *documents) {
    if (index_of_.contains(number) || !looked_at.insert(number).second) continue;
    auto looked_up = fs_.rehousing().find(at, InodeId{number});
    if (!looked_up && looked_up.error().is_damage()) continue;
    CFFS_TRY(auto document, std::move(looked_up));
    if (!document || document->inode.size > kLargestDocument) {
      CFFS_TRY_VOID(index.forget(number, touched));
      continue;
    }
    const auto readable = fs_.rehousing().read(*document);
    if (!readable && readable.error().is_damage()) continue;
    if (!readable) return fail(readable.error());
    if (*readable) CFFS_TRY_VOID(examine(*document, index, options, touched));
  }
  return {};
}

// A document's own path is what its links begin at. A file that belongs to none stays where it is.
Status Affiliation::examine_renamed(ReferenceIndex& index, const grouping::ReferenceOptions& options,
                                    std::set<FileId>& touched) {
  for (const FileToMove& file : renamed_) {
    if (grouping::placement_of(file.inode.ino.value, index, options)) touched.insert(file.inode.ino.value);
    if (grouping::document_kind(file.at.name) == grouping::DocumentKind::none) continue;
    if (file.inode.size > kLargestDocument) continue;
    FileToMove document = file;
    const auto readable = fs_.rehousing().read(document);
    if (!readable && readable.error().is_damage()) continue;
    if (!readable) return fail(readable.error());
    if (*readable) CFFS_TRY_VOID(examine(document, index, options, touched));
  }
  return {};
}

Result<bool> Affiliation::is_gone(FileId file, const std::optional<EntryName>& at) const {
  if (fs_.rehousing().referred(InodeId{file}).referred) return false;
  if (!at) return true;
  const auto found = fs_.rehousing().find(*at, InodeId{file});
  if (!found && found.error().is_damage()) return false;  // nobody knows
  if (!found) return fail(found.error());
  return !*found;
}

// A member that leaves changes its composite's account: where that cannot be read no other of a batch could move with it. One that is
// shared would be written anew, beside those who share it.
Result<bool> Affiliation::has_to_stay(const Inode& inode) const {
  if (inode.home != Home::composite) return false;
  const auto account = fs_.table().get(Key::null_name(inode.extent.composite));
  if (!account && !account.error().is_damage()) return fail(account.error());
  if (!account || (*account && !decode_composite_row(**account))) return true;
  if (fs_.table().sharing() == Sharing::never) return false;
  const auto row = fs_.table().get(Key::member_files(inode.extent.composite, inode.extent.slot));
  if (!row && !row.error().is_damage()) return fail(row.error());
  if (!row) return true;
  if (!*row) return false;
  const auto files = decode_member_files(**row);
  return !files || files->files.size() > 1;
}

// The file as it is, without its content; null where it is gone, shared, unreadable, no file for a group, or being written to.
Result<const FileToMove*> Affiliation::look(FileId file, std::optional<EntryName> at) {
  const auto [it, fresh] = seen_.try_emplace(file);
  if (!fresh) return it->second ? &*it->second : nullptr;
  if (const auto better = paths_.name_of(file)) at = better;
  auto looked_up = fs_.rehousing().find(at.value_or(EntryName{}), InodeId{file});
  if (!looked_up && looked_up.error().is_damage()) return nullptr;
  CFFS_TRY(auto found, std::move(looked_up));
  if (!found) return nullptr;
  const Inode& inode = found->inode;
  const StoreFormat& format = fs_.store_format();
  const std::uint64_t most = inode.home == Home::blob ? joins_unasked(format) : format.composite_file_max;
  const bool small = inode.size > kept_in_table(policy_, format) && inode.size <= most;
  const bool quiet = inode.home == Home::composite || is_quiet(inode, quiet_before_ns_, fs_.clock());
  if (!small || !quiet || inode.holds_room()) return nullptr;
  CFFS_TRY(const bool stays, has_to_stay(inode));
  if (stays) return nullptr;
  it->second = std::move(*found);
  return &*it->second;
}

// Makes the file one of those to move, with its content; false where that cannot be now.
Result<bool> Affiliation::bring(FileId file, const std::optional<EntryName>& at) {
  constexpr std::uint64_t kMostBrought = 32u << 20;  // in one pass; what is beyond waits for another change
  if (index_of_.contains(file)) return true;
  CFFS_TRY(const FileToMove* const seen, look(file, at));
  if (seen == nullptr || brought_ + seen->inode.size > kMostBrought) return false;
  FileToMove brought = *seen;
  auto readable = fs_.rehousing().read(brought);
  if (!readable && readable.error().is_damage()) return false;
  if (!readable) return fail(readable.error());
  if (!*readable) return false;
  brought_ += brought.inode.size;
  index_of_.emplace(file, files_.size());
  files_.push_back(std::move(brought));
  return true;
}

// Whether all are members of one group already, and none of them is to be moved anyway.
Result<bool> Affiliation::together(const std::vector<Sought>& files) {
  const FileToMove* first = nullptr;
  for (const auto& [file, at] : files) {
    if (index_of_.contains(file)) return false;
    CFFS_TRY(const FileToMove* const seen, look(file, at));
    if (seen == nullptr) continue;
    if (first == nullptr) first = seen;
    const Extent &here = seen->inode.extent, &there = first->inode.extent;
    const bool same = seen->inode.home == Home::composite && here.composite == there.composite &&
                      here.group_offset == there.group_offset;
    if (!same) return false;
  }
  return true;
}

// One group of these files, as far as they are there and small.
Status Affiliation::gather(const std::vector<Sought>& files) {
  CFFS_TRY(const bool in_place, together(files));
  if (in_place) return {};
  grouping::Group group, local;
  std::vector<grouping::Candidate> candidates;
  for (const auto& [file, at] : files) {
    CFFS_TRY(const bool there, bring(file, at));
    if (!there) continue;
    const std::size_t i = index_of_.at(file);
    if (!taken_.insert(i).second) continue;
    local.push_back(group.size());
    group.push_back(i);
    candidates.push_back({0, files_[i].inode.size, {}, 0});
  }
  if (group.size() == 1) {  // alone: its directory is better company than none
    taken_.erase(group.front());
    return {};
  }
  std::vector<grouping::Group> pieces;
  grouping::add_in_pieces(pieces, local, candidates, grouping::kGroupBytes);
  for (grouping::Group& piece : pieces) {
    for (std::size_t& i : piece) i = group[i];
    groups_.push_back(std::move(piece));
  }
  return {};
}

}  // namespace cffs
