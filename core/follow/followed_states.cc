#include "core/follow/followed_states.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/fs/kept_bytes.h"
#include "core/fs/publishing.h"
#include "core/table/table_log.h"

namespace cffs {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{50};

// A log whose user ended before it was cut has room behind its last record, and who writes next writes there: the state ends before it.
Status leave_out_room(ObjectStore& store, TableState& table) {
  for (auto& [name, bytes] : table.logs) {
    CFFS_TRY(const auto log, store.open(name));
    const auto content = read_whole(*log);
    if (!content && content.error().is_damage()) continue;  // whoever opens the table tells of it
    if (!content) return fail(content.error());
    bytes = read_log(*content).size;
  }
  return {};
}

}  // namespace

Result<FollowedStates::StatePtr> FollowedStates::open(const Checkpoint& checkpoint) {
  auto state = std::make_shared<FollowedState>();
  state->at_ns = checkpoint.at_ns;
  state->view = std::make_unique<CheckpointView>(store_, past_, checkpoint);
  FileSystemOptions options = options_;
  options.is_checkpoint = true;
  options.files_of_checkpoint = checkpoint.files;
  CFFS_TRY(state->fs, FileSystem::open(*state->view, std::move(options)));
  return state;
}

// Nobody writes: the store is what its last user left, mended in memory. Who opens it next for writing sees that it is followed.
Result<FollowedStates::StatePtr> FollowedStates::open_at_rest() {
  unseen_writer_.begin(store_);
  CFFS_TRY(const Checkpoint last, read_checkpoint(store_));
  CFFS_TRY(const auto kept, store_.list(kKeptFolder));
  std::uint64_t last_kept = 0;
  for (const std::string& name : kept) last_kept = std::max(last_kept, kept_epoch(name).value_or(0));
  Checkpoint now;
  now.sequence = next_sequence(last, last_kept);
  now.at_ns = options_.clock->now_ns();
  CFFS_TRY(now.table, table_state_at_rest(store_));
  CFFS_TRY_VOID(leave_out_room(store_, now.table));
  auto state = std::make_shared<FollowedState>();
  state->at_ns = now.at_ns;
  state->view = std::make_unique<CheckpointView>(store_, past_, now);
  CFFS_TRY(state->fs, FileSystem::open(*state->view, options_));
  return state;
}

// Null: `holder` writes.
Result<FollowedStates::StatePtr> FollowedStates::try_at_rest(std::string& holder) {
  const auto lock = store_.lock_for_reading();
  if (lock) return open_at_rest();
  holder = lock.error().context;
  if (lock.error().errno_value == EBUSY) return StatePtr();
  if (lock.error().errno_value != EPERM) return fail(lock.error());
  // It may read and hold nothing: what nobody had before, behind and between was at rest. A writer who comes later finds us among those
  // who follow, and keeps what we need.
  const auto before = store_.writer();
  if (!before) return fail(before.error().errno_value == EOPNOTSUPP ? lock.error() : before.error());
  holder = before->owner;
  if (!holder.empty()) return StatePtr();
  CFFS_TRY_VOID(store_.look_again(""));
  auto state = open_at_rest();
  CFFS_TRY(const auto behind, store_.writer());
  if (behind == *before) return state;
  // What it read, or failed to, may have been changed under it.
  holder = behind.owner.empty() ? "somebody" : behind.owner;
  return StatePtr();
}

Status FollowedStates::join_followers() {
  auto following = store_.follow();
  if (!following && following.error().errno_value == EOPNOTSUPP) {
    return fail(Error::usage(
        "store " + store_.description() +
        " cannot be followed: that is for stores in a directory or a pool; mount it with -o ro"));
  }
  if (!following && following.error().errno_value == ENOENT) {
    return fail(Error::usage("store " + store_.description() +
                             " cannot be followed yet: mount it once for writing with this version of cffs"));
  }
  if (!following) return fail(following.error());
  following_ = std::move(*following);
  return {};
}

Result<FollowedStates::StatePtr> FollowedStates::first(const std::function<bool()>& awaited,
                                                       const std::function<void(const std::string&)>& say) {
  CFFS_TRY_VOID(join_followers());
  StatePtr state;
  for (bool told = false; !state;) {
    std::string holder;
    CFFS_TRY(state, try_at_rest(holder));
    if (state) break;
    CFFS_TRY(const Checkpoint checkpoint, read_checkpoint(store_));
    if (checkpoint.kept) {
      CFFS_TRY_VOID(store_.look_again(""));
      auto opened = open(checkpoint);
      if (opened) {
        state = std::move(*opened);
        break;
      }
      CFFS_TRY(const Checkpoint again, read_checkpoint(store_));
      if (again.sequence == checkpoint.sequence && again.kept) return fail(opened.error());
    }
    if (awaited && !awaited()) return fail(EINTR, store_.description());
    if (!told && say) {
      say("store " + store_.description() + " is in use by " + holder + "; waiting for its first checkpoint");
    }
    told = true;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return state;
}

bool FollowedStates::misses_writer(const Checkpoint& last) {
  return unseen_writer_.look(store_, last, options_.clock->steady_ms());
}

}  // namespace cffs
