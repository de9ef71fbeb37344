// Files of a group for a cache above, of a store that somebody else writes to (core/fs/group_hand_over.cc has what and when).
//
// What is given is one state's content, and a node keeps its content for good. But a node that everybody forgets while its file is given away may
// be the number of another content a moment later: so who gives holds a reference to it.
#include "core/follow/followed_file_system.h"

namespace cffs {

void FollowedFileSystem::on_likely_group(std::function<void(ReaderId, InodeId)> call) {
  StatePtr state;
  {
    const MutexLock guard(mutex_);
    likely_group_ = std::make_shared<const LikelyGroup>(std::move(call));
    state = current_;
  }
  tell_likely_groups(*state);
}

// Before anybody reads in it. What is read in one of before, which somebody has open, is not told of: its groups are others.
void FollowedFileSystem::tell_likely_groups(State& state) {
  const auto call = [this, &state](ReaderId reader, InodeId ino) {
    std::shared_ptr<const LikelyGroup> likely;
    InodeId node;
    {
      const MutexLock guard(mutex_);
      if (current_.get() != &state) return;
      likely = likely_group_;
      node = known_.node_of(ino);
    }
    if (likely && *likely) (*likely)(reader, node);
  };
  bool asks = false;
  {
    const MutexLock guard(mutex_);
    asks = likely_group_ && *likely_group_;
  }
  state.fs->on_likely_group(asks ? LikelyGroup(call) : LikelyGroup());
}

Result<std::size_t> FollowedFileSystem::hand_over_group(
    ReaderId reader, InodeId node, const std::function<Taken(InodeId, ConstBytes)>& take) {
  CFFS_TRY(const Found found, find(node));
  return found.state->fs->hand_over_group(reader, found.ino, [&](InodeId ino, ConstBytes content) {
    std::optional<InodeId> shown;
    {
      const MutexLock guard(mutex_);
      if (found.state != current_) return Taken::no_more;
      shown = known_.refer_shown(ino);
    }
    if (!shown) return Taken::no;
    const Taken taken = take(*shown, content);
    forget(*shown, 1);
    return taken;
  });
}

}  // namespace cffs
