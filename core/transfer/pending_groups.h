// What an import has met and not yet given to a worker, kept so that no group of a directory is cut where a worker's share
// ends: a store that was just imported lies as grouping by directory would have it, and a regrouping finds nothing to move.
//
// The rule is group_by_directory()'s (grouping/policy.h): the files of a directory in the order in which they come, a new
// group where the next file would make one too large. Archives come back to a directory after what lies below it, so
// groups stay open until their directory is complete, or until too much is waiting: then those that waited longest go.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "grouping/policy.h"

namespace cffs {

// `File` has `InodeId parent` and `std::uint64_t size`.
template <typename File>
class PendingGroups {
 public:
  // `share_bytes`: of one worker's share, and of a group; a share has at most `share_files` files.
  PendingGroups(std::uint64_t share_bytes, std::size_t share_files)
      : share_bytes_(share_bytes), share_files_(share_files) {}

  // Files of size 0, and others that are in no group, go with whatever is there. `held`: bytes that it has in memory beside its content,
  // which count for what may wait, and for no group.
  void add(File file, bool in_a_group, std::uint64_t held = 0) {
    const std::uint64_t size = file.size;
    if (!in_a_group) return complete({std::move(file)}, size, held);
    const auto known = open_.find(file.parent.value);
    auto group = known == open_.end() ? open(file.parent) : known->second;
    if (!group->files.empty() &&
        (group->bytes + size > share_bytes_ || group->files.size() >= grouping::kMostMembers)) {
      close(group);
      group = open(file.parent);
    }
    groups_.splice(groups_.end(), groups_, group);  // it waits from now
    group->bytes += size;
    open_bytes_ += size;
    group->held += held;
    open_held_ += held;
    ++group->added;
    ++open_files_;
    group->files.push_back(std::move(file));
    while ((open_bytes_ > kOpenShares * share_bytes_ || open_files_ > kOpenShares * share_files_ ||
            open_held_ > kMostHeld) &&
           groups_.size() > 1) {
      close(groups_.begin());
    }
    if (group->held > kMostHeld) close(group);
  }
  // No more files of this directory are to come.
  void directory_complete(InodeId directory) {
    const auto known = open_.find(directory.value);
    if (known != open_.end()) close(known->second);
  }
  void all_complete() {
    while (!groups_.empty()) close(groups_.begin());
    if (!share_.empty()) ready_.push_back(std::exchange(share_, {}));
    share_size_ = share_held_ = 0;
  }
  // Shares that a worker can have: groups in the order in which they were complete.
  std::vector<std::vector<File>> take() { return std::exchange(ready_, {}); }

  bool is_empty() const { return groups_.empty() && share_.empty() && ready_.empty(); }

  template <typename Predicate>
  void erase_if(const Predicate& gone) {
    std::erase_if(share_, gone);
    for (auto& share : ready_) std::erase_if(share, gone);
    for (Group& group : groups_) std::erase_if(group.files, gone);
  }

 private:
  static constexpr std::uint64_t kOpenShares = 4;
  static constexpr std::uint64_t kMostHeld = 16u << 20;

  struct Group {
    InodeId directory;
    std::vector<File> files;
    std::uint64_t bytes = 0;
    std::size_t added = 0;
    std::uint64_t held = 0;
  };
  using Groups = std::list<Group>;

  typename Groups::iterator open(InodeId directory) {
    groups_.push_back({directory, {}, 0, 0, 0});
    return open_[directory.value] = std::prev(groups_.end());
  }
  void close(typename Groups::iterator group) {
    open_.erase(group->directory.value);
    open_bytes_ -= group->bytes;
    open_files_ -= group->added;
    open_held_ -= group->held;
    complete(std::move(group->files), group->bytes, group->held);
    groups_.erase(group);
  }
  void complete(std::vector<File> files, std::uint64_t bytes, std::uint64_t held) {
    if (bytes > share_bytes_) {  // one large file: alone; those before and behind it go on sharing
      ready_.push_back(std::move(files));
      return;
    }
    const bool full = share_size_ + bytes > share_bytes_ || share_.size() + files.size() > share_files_ ||
                      share_held_ + held > kMostHeld;
    if (full && !share_.empty()) {
      ready_.push_back(std::exchange(share_, {}));
      share_size_ = share_held_ = 0;
    }
    share_size_ += bytes;
    share_held_ += held;
    share_.insert(share_.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
  }

  const std::uint64_t share_bytes_;
  const std::size_t share_files_;
  Groups groups_;  // open, the one that waited longest first
  std::unordered_map<std::uint64_t, typename Groups::iterator> open_;
  std::uint64_t open_bytes_ = 0;
  std::size_t open_files_ = 0;
  std::uint64_t open_held_ = 0;
  std::vector<File> share_;
  std::uint64_t share_size_ = 0, share_held_ = 0;
  std::vector<std::vector<File>> ready_;
};

}  // namespace cffs
