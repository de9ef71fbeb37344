// fsync and the periodic commit.
#include "core/base/undisturbed.h"
#include "core/base/within_memory.h"
#include "core/fs/engine.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

// Who waits for a commit waits no longer for nodes to go to sleep: some 10 ms. The thread that commits does the rest.
constexpr std::size_t kAskedInCommit = 64u << 10;

}  // namespace

Status Engine::fsync(InodeId ino) {
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  announce_blocking();
  homes_.note_durable_below(counter_.peek());  // a blob that it becomes behind the look below is made durable by who writes
  std::shared_ptr<Object> blob;
  bool stale = false;
  {
    const ReadLock guard(found->mutex);
    stale = found->row_stale;
    if (found->inode.home == Home::blob) {
      CFFS_TRY(blob, homes_.object_of(*found));
    }
  }
  if (blob) {
    Status done = blob->sync();
    if (done && !table_->failed()) done = dirty_objects_->sync_of(ino, blob.get());
    if (!done) {
      table_->poison();
      return done;
    }
  }
  if (stale) CFFS_TRY_VOID(rows_.flush(*found));
  return sync_table();
}

Status Engine::sync_table() {
  homes_.note_durable_below(counter_.peek());
  return table_->sync();
}

Status Engine::sync() {
  announce_blocking();
  return commit();
}

// A row that cannot be written keeps no other from it; the next commit tries again.
Status Engine::settle_rows() {
  const Undisturbed or_rows_would_stay_behind;  // nobody notes those that were taken again
  Status result;
  for (const InodeId ino : rows_.take_stale()) {
    const NodePtr node = nodes_.find(ino);
    if (!node) continue;
    if (Status done = rows_.flush(*node); !done) {
      rows_.still_stale(ino);
      if (result) result = std::move(done);
    }
  }
  return result;
}

// Rows are written before the commit where many are behind: no node goes to sleep that knows more than its row. What cannot be
// written stays behind; the commit says so. Objects are synced before it where many are dirty, so that no writer has to.
void Engine::settle_early() {
  {
    const MutexLock no_moment_meanwhile(settling_);
    (void)settle_rows();
  }
  nodes_.put_rest_to_sleep();
  if (dirty_objects_->many()) (void)homes_.sync_dirty();
}

Status Engine::commit() {
  if (options_.read_only) return {};
  const MutexLock one_at_a_time(committing_);
  const std::uint64_t began = elapsed_ns();
  Status done = make_durable();
  const std::uint64_t ended = elapsed_ns();
  (done ? commits_ : commit_failures_).fetch_add(1, std::memory_order_relaxed);
  if (done) last_commit_ns_.store(static_cast<std::int64_t>(ended), std::memory_order_relaxed);
  last_commit_took_ns_.store(static_cast<std::int64_t>(ended - began), std::memory_order_relaxed);
  return done;
}

Status Engine::make_durable() {
  // What leaves the table behind sync_dirty() is made durable by who writes.
  homes_.note_durable_below(counter_.peek());
  Status result;
  {
    const MutexLock no_moment_meanwhile(settling_);
    result = settle_rows();
  }
  // What cannot be cut now is with the next commit.
  if (look_for_followers()) (void)cut_checkpoint();
  // Nothing that may want memory comes between: what was taken would be in nobody's list.
  std::vector<InodeId> leftovers;
  {
    const MutexLock guard(leftovers_mutex_);
    leftovers.swap(leftovers_);
  }
  for (const InodeId ino : leftovers) forget(ino, 0);
  for (const InodeId ino : nodes_.take_abandoned()) forget(ino, 0);
  nodes_.put_rest_to_sleep(kAskedInCommit);
  CFFS_TRY_VOID(homes_.sync_dirty());
  const std::vector<std::uint64_t> dead_values = table_->dead_values();
  CFFS_TRY_VOID(sync_table());
  table_->drop_values(dead_values);
  // It is no less durable where those who follow do not hear of it.
  if (const Status told = publishing_.publish(file_count_.value()); !told && !publishing_failed_) {
    publishing_failed_ = true;
    log("no checkpoint could be written, who follows sees the one before: " + told.error().message());
  }
  publishing_.sweep();
  CFFS_TRY_VOID(removals_.settle());
  space_.hold();
  return result;
}

// As for a moment (hold_moment()): once every node's lock was had, whoever changes a blob has seen that it must pass.
bool Engine::look_for_followers() {
  const bool were = publishing_.followed();
  const bool are = publishing_.look();
  if (are == were) return are;
  moments_.ask_for_followers(are ? &publishing_.kept_bytes() : nullptr);
  if (!are) return false;
  nodes_.visit([](const Node& node) {
    if (S_ISREG(node.type)) const ReadLock had(node.mutex);
  });
  return true;
}

Status Engine::cut_checkpoint() {
  const Undisturbed or_the_gate_would_stay_closed;
  moments_.close();
  Status done;
  {
    const MutexLock no_moment_meanwhile(settling_);
    done = settle_rows();
    if (done) done = publishing_.cut(*table_, removals_.waits_since());
  }
  moments_.reopen();
  return done;
}

// Who has begun to follow does not wait for the next commit.
void Engine::look_between_commits() {
  if (!publishing_.followed() && store_.followed()) commit_in_background();
}

void Engine::commit_in_background() {
  // A hint is not worth an error: what could not be written is forgotten.
  if (access_record_) (void)access_record_->flush();
  const Status done = within_memory([this] { return commit(); });
  nodes_.put_rest_to_sleep();
  if (const auto problem = removals_.problem(); problem && !removal_failed_) {
    removal_failed_ = true;
    log("what was removed still takes room, every commit tries again: " + problem->message());
  }
  if (done || commit_failed_) return;
  commit_failed_ = true;  // said once: the next ones may fail the same way
  const bool read_only = table_->failed();
  log("commit failed" +
      std::string(read_only ? ", the file system is read-only until it is mounted again" : "") + ": " +
      done.error().message());
}

}  // namespace cffs
