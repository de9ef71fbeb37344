// Which other files belong with those that became quiet: under the policy reference the documents that embed them and
// what these embed, under frequency the rest of their groups in the plan.
//
// Only groups that concern the quiet files are looked at, through the reference index and the plan; the cost of a pass
// follows what has changed, not the size of the store. What is already together, and not of this pass, stays put.
#include <algorithm>

#include "core/fs/relocation.h"
#include "grouping/frequency_policy.h"
#include "grouping/reference_policy.h"

namespace cffs {

class Relocation::Affiliation {
 public:
  using FileId = grouping::FileId;

  Affiliation(Relocation& relocation, std::vector<Member>& ready, std::int64_t quiet_before_ns)
      : r_(relocation), ready_(ready), quiet_before_ns_(quiet_before_ns), tree_(relocation.fs_) {
    for (std::size_t i = 0; i < ready.size(); ++i) index_of_.emplace(ready[i].inode.ino.value, i);
  }

  Result<std::vector<grouping::Group>> by_reference(const grouping::ReferenceOptions& options) {
    ReferenceIndex index(*r_.fs_.table_, options);
    std::set<FileId> touched;
    const std::size_t own = ready_.size();
    for (std::size_t i = 0; i < own; ++i) touched.insert(ready_[i].inode.ino.value);
    for (std::size_t i = 0; i < own; ++i) CFFS_TRY_VOID(examine(ready_[i], index, options, touched));
    CFFS_TRY_VOID(examine_mentioning(own, index, options, touched));

    std::set<grouping::Placement> groups;
    for (const FileId file : touched) {
      if (const auto placement = grouping::placement_of(file, index, options)) {
        groups.insert(*placement);
      } else if (!index_of_.contains(file)) {
        (void)bring(file, index.place(file));  // dropped by its document: back to its directory
      }
    }
    for (const grouping::Placement& group : groups) {
      const auto place = index.place(group.head);
      CFFS_TRY(const bool gone, is_gone(group.head, place));
      if (gone) {  // its files find another place
        CFFS_TRY_VOID(index.forget(group.head, touched));
        continue;
      }
      std::vector<std::pair<FileId, std::optional<StoreTree::Place>>> members;
      for (const FileId file : grouping::members_of(group, index, options))
        members.emplace_back(file, index.place(file));
      CFFS_TRY_VOID(gather(members));
    }
    return std::move(groups_);
  }

  Result<std::vector<grouping::Group>> by_plan(const grouping::PlanGroups& plan) {
    std::set<std::size_t> wanted;
    for (const Member& member : ready_) {
      CFFS_TRY(const auto path, tree_.path_of({member.parent, member.name}));
      if (!path) continue;
      if (const auto place = plan.find(member.inode.ino.value, *path)) wanted.insert(place->group);
    }
    for (const std::size_t group : wanted) {
      std::vector<std::pair<FileId, std::optional<StoreTree::Place>>> members;
      for (const auto& member : plan.members(group)) {
        const auto by_path = member.path.empty() ? std::nullopt : tree_.find(member.path);
        const FileId file =
            member.file != 0 && (!by_path || *by_path == member.file) ? member.file : by_path.value_or(0);
        if (file != 0) members.emplace_back(file, tree_.place(file));
      }
      CFFS_TRY_VOID(gather(members));
    }
    return std::move(groups_);
  }

 private:
  Status examine(const Member& member, ReferenceIndex& index, const grouping::ReferenceOptions& options,
                 std::set<FileId>& touched) {
    const grouping::DocumentKind kind = grouping::document_kind(member.name);
    if (kind == grouping::DocumentKind::none) return {};
    CFFS_TRY(const auto path, tree_.path_of({member.parent, member.name}));
    if (!path) return {};
    const auto links = grouping::links_of(member.inode.ino.value, *path,
                                          grouping::extract(kind, member.content), options, tree_);
    return index.replace(
        member.inode.ino.value, {member.parent, member.name}, kind == grouping::DocumentKind::html, links,
        [&](FileId file) { return tree_.place(file); }, touched);
  }

  // Files that nobody embeds yet may be what earlier documents have been waiting for.
  Status examine_mentioning(std::size_t own, ReferenceIndex& index, const grouping::ReferenceOptions& options,
                            std::set<FileId>& touched) {
    constexpr std::size_t kMostDocuments = 32;
    std::set<FileId> looked_at;
    for (std::size_t i = 0; i < own; ++i) {
      if (index.owner(ready_[i].inode.ino.value)) continue;
      const std::string stem = grouping::stem_of(ready_[i].name);
      CFFS_TRY(const auto documents, index.mentioning(stem, kMostDocuments));
      for (const auto& [file, place] : documents) {
        if (index_of_.contains(file) || !looked_at.insert(file).second) continue;
        CFFS_TRY(auto document, r_.locate(place, file));
        if (!document) {
          CFFS_TRY_VOID(index.forget(file, touched));
          continue;
        }
        CFFS_TRY(const bool readable, r_.read_content(*document));
        if (readable) CFFS_TRY_VOID(examine(*document, index, options, touched));
      }
    }
    return {};
  }

  Result<bool> is_gone(FileId file, const std::optional<StoreTree::Place>& place) const {
    if (r_.fs_.nodes_.find(InodeId{file})) return false;
    if (!place) return true;
    CFFS_TRY(const Row row, r_.fs_.table_->get_row(r_.fs_.entry_key(place->parent, place->name)));
    const Entry* entry = row.find(place->name);
    return entry == nullptr || entry->ino.value != file;
  }

  // The file as it is, without its content; null where it is gone, not small, empty, or being written to.
  Result<const Member*> look(FileId file, std::optional<StoreTree::Place> place) {
    const auto [it, fresh] = seen_.try_emplace(file);
    if (!fresh) return it->second ? &*it->second : nullptr;
    if (const auto better = tree_.place(file)) place = better;
    CFFS_TRY(auto member, r_.locate(place.value_or(StoreTree::Place{}), file));
    const bool usable = member && member->inode.size > 0 &&
                        (member->inode.home == Home::composite || member->inode.ctime_ns <= quiet_before_ns_);
    if (!usable) return nullptr;
    it->second = std::move(*member);
    return &*it->second;
  }

  // Makes the file one of those to move, with its content; false where that cannot be now.
  Result<bool> bring(FileId file, const std::optional<StoreTree::Place>& place) {
    constexpr std::uint64_t kMostBrought = 32u << 20;  // in one pass; what is beyond waits for another change
    if (index_of_.contains(file)) return true;
    CFFS_TRY(const Member* const seen, look(file, place));
    if (seen == nullptr || brought_ + seen->inode.size > kMostBrought) return false;
    Member member = *seen;
    auto readable = r_.read_content(member);
    if (!readable && readable.error().kind == ErrorKind::corruption) return false;  // rot stays where it is
    if (!readable) return fail(readable.error());
    if (!*readable) return false;
    brought_ += member.inode.size;
    index_of_.emplace(file, ready_.size());
    ready_.push_back(std::move(member));
    return true;
  }

  // One group of these files, as far as they are there and small.
  Status gather(const std::vector<std::pair<FileId, std::optional<StoreTree::Place>>>& files) {
    bool together = true;  // all are members of one group already, and none of them is to be moved anyway
    const Member* first = nullptr;
    for (const auto& [file, place] : files) {
      together = together && !index_of_.contains(file);
      CFFS_TRY(const Member* const member, look(file, place));
      if (member == nullptr) continue;
      if (first == nullptr) first = member;
      together = together && member->inode.home == Home::composite &&
                 member->inode.extent.composite == first->inode.extent.composite &&
                 member->inode.extent.group_offset == first->inode.extent.group_offset;
    }
    if (together) return {};
    grouping::Group group, local;
    std::vector<grouping::Candidate> candidates;
    for (const auto& [file, place] : files) {
      CFFS_TRY(const bool there, bring(file, place));
      if (!there) continue;
      const std::size_t i = index_of_.at(file);
      if (!taken_.insert(i).second) continue;
      local.push_back(group.size());
      group.push_back(i);
      candidates.push_back({0, ready_[i].inode.size, {}, 0});
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

  Relocation& r_;
  std::vector<Member>& ready_;
  const std::int64_t quiet_before_ns_;
  StoreTree tree_;
  std::unordered_map<FileId, std::size_t> index_of_;  // into ready_
  std::unordered_map<FileId, std::optional<Member>> seen_;
  std::set<std::size_t> taken_;
  std::vector<grouping::Group> groups_;
  std::uint64_t brought_ = 0;
};

Result<std::vector<grouping::Group>> Relocation::affiliate(std::vector<Member>& ready,
                                                           std::int64_t quiet_before_ns) {
  Affiliation affiliation(*this, ready, quiet_before_ns);
  if (const auto* reference = dynamic_cast<const grouping::ReferencePolicy*>(policy_.get())) {
    return affiliation.by_reference(reference->options());
  }
  const auto* frequency = dynamic_cast<const grouping::FrequencyPolicy*>(policy_.get());
  if (frequency != nullptr && frequency->plan()) return affiliation.by_plan(*frequency->plan());
  return std::vector<grouping::Group>();
}

}  // namespace cffs
