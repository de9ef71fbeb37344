#include "core/reorganise/consolidation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/printable.h"
#include "core/fs/kept_in_table.h"
#include "core/fs/limits.h"
#include "core/reorganise/affiliation.h"
#include "core/reorganise/quiet_file.h"
#include "core/table/table.h"
#include "grouping/packing.h"

namespace cffs {

bool Consolidation::should_move(const Inode& inode) const {
  const bool composites = policy_->makes_composites();
  const StoreFormat& format = fs_.store_format();
  const std::uint64_t most = composites ? joins_unasked(format) : format.inline_max;
  const bool stays = inode.size <= kept_in_table(*policy_, format);
  const bool staged = inode.home == Home::blob || (composites && inode.home == Home::inline_ && !stays);
  return staged && inode.size <= most && !inode.holds_room();
}

Result<std::vector<Consolidation::Quiet>> Consolidation::quiet_files(InodeId directory,
                                                                     std::optional<std::uint64_t>& hash,
                                                                     bool& waiting) const {
  std::vector<Quiet> found;
  const std::uint64_t from = hash.value_or(0);
  hash.reset();
  const auto visit = [&](Key key, const Row& row) {
    if (found.size() >= bounds_.names) {
      hash = key.lower;
      return false;
    }
    for (const Entry& entry : row.entries) {
      const auto file = fs_.rehousing().look(key, directory, entry);
      if (!file) continue;
      if (!should_move(file->inode)) {
        if (Sealing::wanted(fs_.store_format(), file->inode)) sealing_.note(*file);
        continue;
      }
      if (!is_quiet(file->inode, quiet_before_ns_, fs_.clock())) {
        waiting = true;
      } else {
        found.push_back({entry.name, entry.ino});
      }
    }
    return true;
  };
  CFFS_TRY_VOID(fs_.table().scan_directory(directory, from, visit, pass_over));
  std::sort(found.begin(), found.end(), [](const Quiet& a, const Quiet& b) { return a.name < b.name; });
  return found;
}

Result<std::vector<FileToMove>> Consolidation::quiet_members(
    const std::vector<RenamedFiles::Renamed>& renamed, std::vector<InodeId>& waiting) const {
  std::vector<FileToMove> found;
  for (const auto& [ino, at] : renamed) {
    auto looked_up = fs_.rehousing().find(at, ino);
    if (!looked_up && looked_up.error().is_damage()) continue;
    CFFS_TRY(auto file, std::move(looked_up));
    if (!file || file->inode.home != Home::composite) continue;  // a staged one comes with its directory
    if (!is_quiet(file->inode, quiet_before_ns_, fs_.clock())) {
      waiting.push_back(ino);
    } else {
      found.push_back(std::move(*file));
    }
  }
  return found;
}

Status Consolidation::may_go_on() const {
  if (!stopped_ || !stopped_()) return {};
  return fail(EINTR, "the store is being closed, or somebody else is first");
}

// A slice bounds the memory; where its bytes end it, a composite would end anyway.
Status Consolidation::add(FileToMove file) {
  slice_bytes_ += file.inode.size;
  slice_.push_back(std::move(file));
  if (slice_bytes_ < fs_.store_format().composite_max && slice_.size() < bounds_.files) return {};
  CFFS_TRY_VOID(move_slice());
  return may_go_on();
}

Status Consolidation::move_slice(const std::vector<FileToMove>& renamed) {
  slice_bytes_ = 0;
  Status moved = move(std::exchange(slice_, {}), renamed);
  slice_failed_ = !moved;
  return moved;
}

Status Consolidation::run_directory(InodeId directory, bool& waiting) {
  std::optional<std::uint64_t> hash = 0;
  while (hash) {
    CFFS_TRY_VOID(may_go_on());
    CFFS_TRY(const auto quiet, quiet_files(directory, hash, waiting));
    for (const Quiet& one : quiet) {
      CFFS_TRY(auto file, fs_.rehousing().find({directory, one.name}, one.ino));
      if (!file || !should_move(file->inode)) continue;  // since
      if (!is_quiet(file->inode, quiet_before_ns_, fs_.clock())) {
        waiting = true;
      } else {
        CFFS_TRY_VOID(add(std::move(*file)));
      }
    }
  }
  return {};
}

// What is damaged there must not keep the files of others from their groups. A slice has files of others too: where it fails, all are
// looked at again.
Status Consolidation::run_where_readable(InodeId directory, bool& waiting, bool& unreadable) {
  const Status done = run_directory(directory, waiting);
  if (done || slice_failed_ || !done.error().is_damage() || fs_.table().failed()) return done;
  fs_.log("files of directory " + std::to_string(directory.value) +
          " stay where they are: " + done.error().message());
  unreadable = true;
  return {};
}

Result<Consolidation::Left> Consolidation::run(const std::vector<InodeId>& directories,
                                               const std::vector<RenamedFiles::Renamed>& renamed) {
  Left left;
  for (const InodeId directory : directories) {
    bool waiting = false, unreadable = false;
    CFFS_TRY_VOID(run_where_readable(directory, waiting, unreadable));
    if (unreadable) {
      left.unreadable.push_back(directory);
    } else if (waiting) {
      left.directories.push_back(directory);
    }
  }
  CFFS_TRY(const auto members, quiet_members(renamed, left.renamed));
  if (!slice_.empty() || !members.empty()) CFFS_TRY_VOID(move_slice(members));
  if (some_left_) {
    left.directories = directories;
    left.unreadable.clear();
  }
  return left;
}

Status Consolidation::move(std::vector<FileToMove> files, const std::vector<FileToMove>& renamed) {
  // Two names of one file are one member; empty files need no home, only to leave the one they have.
  std::set<InodeId> seen;
  std::vector<FileToMove> to_composites, to_table;
  for (FileToMove& file : files) {
    if (!seen.insert(file.inode.ino).second) continue;
    const auto readable = fs_.rehousing().read(file);
    if (!readable && readable.error().is_damage()) {
      fs_.log("'" + printable(file.at.name) + "' (inode " + std::to_string(file.inode.ino.value) +
              ") stays where it is: " + readable.error().message());
      continue;
    }
    if (!readable) return fail(readable.error());
    if (!*readable) continue;
    const bool member =
        policy_->makes_composites() && file.inode.size > kept_in_table(*policy_, fs_.store_format());
    (member ? to_composites : to_table).push_back(std::move(file));
  }
  CFFS_TRY_VOID(move_to_table(to_table));
  if (to_composites.empty() && renamed.empty()) return {};
  return move_to_composites(std::move(to_composites), renamed);
}

Status Consolidation::move_to_table(const std::vector<FileToMove>& files) {
  for (std::size_t i = 0; i < files.size(); i += kRowsAtOnce) {
    const std::size_t n = std::min(kRowsAtOnce, files.size() - i);
    CFFS_TRY_VOID(fs_.rehousing().into_table(std::span(files).subspan(i, n)));
  }
  return {};
}

Status Consolidation::move_to_composites(std::vector<FileToMove> files,
                                         const std::vector<FileToMove>& renamed) {
  paths_.forget_files();
  Affiliation affiliation(fs_, *policy_, quiet_before_ns_, files, renamed, paths_, stopped_);
  CFFS_TRY(std::vector<grouping::Group> chosen, affiliation.groups());
  std::vector<grouping::Candidate> candidates;
  for (const FileToMove& file : files) candidates.push_back({file.at.parent.value, file.inode.size, {}, 0});
  const std::uint64_t most = fs_.store_format().composite_max;
  std::vector<bool> taken(files.size());
  for (const grouping::Group& group : chosen) {
    for (const std::size_t i : group) taken[i] = true;
  }
  for (grouping::Group& group : grouping::group_by_directory(candidates, taken, most)) {
    chosen.push_back(std::move(group));
  }
  for (auto& pack : grouping::pack(std::move(chosen), candidates, most, filler_.room())) {
    if (pack.groups.empty()) {
      filler_.begin_anew();  // nothing fits behind what is there
      continue;
    }
    std::vector<CompositeFiller::Group> groups;
    for (const grouping::Group& group : pack.groups) {
      groups.emplace_back();
      for (const std::size_t i : group) groups.back().push_back(std::move(files[i]));
    }
    CFFS_TRY(const auto filled,
             filler_.add(std::move(groups), policy_->id(), CompositeFiller::Purpose::grouping));
    some_left_ = some_left_ || filled.composite_gone;
  }
  return {};
}

}  // namespace cffs
