// What callers of a followed store refer to. An inode is named by its number and a *revision*, which stands above the number: a regular file
// whose content has changed is another node from then on, so that whoever has it open, and whatever they cached of it, stays with what it
// had.
//
// Not thread-safe: FollowedFileSystem's lock guards it, together with the state that is current.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/follow/followed_states.h"
#include "core/follow/state_changes.h"

namespace cffs {

// What who remembers things of the mount has to forget. Numbers as callers have them.
struct Moved {
  bool everything = false;  // it is not known what has changed
  std::vector<EntryName> names;
  std::vector<InodeId> listings, attributes;
};

class KnownNodes {
 public:
  using StatePtr = FollowedStates::StatePtr;
  struct Known {
    EntryName place;
    std::uint64_t references = 0;
    std::uint64_t opened = 0;
    bool is_directory = false;
    StatePtr pinned;  // its content is this one's; null: the current one's
  };

  // In every state.
  static InodeId number_of(InodeId node) { return InodeId{node.value & (kInodeLimit - 1)}; }
  // By which the file of that number is known now.
  InodeId node_of(InodeId ino) const;
  // False: so many of its contents are open that there is none for what it has now.
  bool has_number(InodeId ino);

  // Null: nobody refers to it.
  Known* find(InodeId node);
  const Known* find(InodeId node) const { return const_cast<KnownNodes*>(this)->find(node); }
  // One more reference.
  void refer(InodeId node, EntryName place, bool is_directory);
  // The same of the file's node, if somebody refers to it and its content is what the file has in the current state.
  std::optional<InodeId> refer_shown(InodeId ino);
  // True: nobody refers to any node of that number any more.
  bool forget(InodeId node, std::uint64_t references);

  // Another state takes the place of `current`, and differs from it in this; null: nobody knows in what.
  Moved move_on(const StatePtr& current, const StateChanges* changes);

  std::size_t size() const { return nodes_.size(); }
  void clear() { nodes_.clear(); }
  // Files that nobody has open, from where it left off the last time.
  std::vector<InodeId> some_asleep(std::size_t most);

 private:
  void keep_for_readers(Known& known, const StatePtr& current);
  void set_apart(InodeId ino, const StatePtr& current);
  std::uint64_t free_revision(InodeId ino) const;

  std::unordered_map<InodeId, Known> nodes_;
  std::unordered_map<InodeId, std::uint64_t> revisions_;  // of files that have one
  InodeId asked_;                                         // where some_asleep() goes on
};

}  // namespace cffs
