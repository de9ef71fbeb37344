// The states of a store that somebody else writes to: each checkpoint of it as an engine of its own, which is opened beside the one in use.
//
// Who follows holds the store's followers' lock for as long as it does, so that the writer keeps what a state needs. By one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/follow/checkpoint_view.h"
#include "core/follow/past_bytes.h"
#include "core/follow/unseen_writer.h"
#include "core/fs/file_system.h"

namespace cffs {

// Open, with one reference to each inode that was asked for in it.
struct FollowedState {
  std::unique_ptr<CheckpointView> view;
  std::unique_ptr<FileSystem> fs;
  std::int64_t at_ns = 0;  // the writer's clock
  Mutex mutex;             // leaf
  std::unordered_map<InodeId, bool> referred CFFS_GUARDED_BY(mutex);
};

class FollowedStates {
 public:
  using StatePtr = std::shared_ptr<FollowedState>;

  // Both must outlive it, and it must outlive its states.
  FollowedStates(ObjectStore& store, const FileSystemOptions& options)
      : store_(store), options_(options), past_(store) {}

  // Begins to follow: a checkpoint of the store's writer, waited for where there is none yet, or the store as it is at rest where nobody
  // writes. `usage`: it cannot be followed, says why. EINTR: `awaited` said that nobody waits any more; null: for ever.
  Result<StatePtr> first(const std::function<bool()>& awaited,
                         const std::function<void(const std::string&)>& say);
  Result<StatePtr> open(const Checkpoint& checkpoint);
  // To be asked with each look for a checkpoint, this one being the last. True: somebody writes who does not see that we follow.
  bool misses_writer(const Checkpoint& last);
  // Follows no more.
  void end() { following_.reset(); }

 private:
  Status join_followers();
  Result<StatePtr> open_at_rest();
  Result<StatePtr> try_at_rest(std::string& holder);

  ObjectStore& store_;
  const FileSystemOptions& options_;
  std::unique_ptr<StoreLock> following_;
  PastBytes past_;
  UnseenWriter unseen_writer_;
};

}  // namespace cffs
