#include "core/fs/consolidator.h"

#include <limits>

namespace cffs {
namespace {

Key mark_of(InodeId directory) { return Key::tagged(KeyTag::staged_directory, directory.value, 0); }

}  // namespace

void Consolidator::start() {
  thread_ = std::thread([this] { run(); });
}

void Consolidator::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Consolidator::note(Batch& batch, Node& directory) {
  const std::int64_t at = fs_.options_.clock->steady_ms();
  directory.staged_at_ms.store(at, std::memory_order_relaxed);
  if (directory.staged.exchange(true)) return;
  batch.put(mark_of(directory.ino), {});
  const std::lock_guard guard(mutex_);
  directories_.emplace(directory.ino, at);
}

void Consolidator::note_wasteful(CompositeId id) {
  const std::lock_guard guard(mutex_);
  wasteful_.insert(id);
}

void Consolidator::remember(InodeId directory) {
  const std::lock_guard guard(mutex_);
  directories_.emplace(directory, fs_.options_.clock->steady_ms());
}

std::vector<InodeId> Consolidator::due(bool all) {
  const std::int64_t at = fs_.options_.clock->steady_ms();
  const std::int64_t quiet = fs_.options_.quiet_ms;
  std::vector<InodeId> found;
  const std::lock_guard guard(mutex_);
  for (const auto& [ino, since] : directories_) {
    const NodePtr node = fs_.nodes_.find(ino);
    const std::int64_t changed = node ? node->staged_at_ms.load(std::memory_order_relaxed) : since;
    if (all || at - changed >= quiet || at - since >= 10 * quiet) found.push_back(ino);
  }
  for (const InodeId ino : found) directories_.erase(ino);
  return found;
}

Status Consolidator::forget_marks(const std::vector<InodeId>& done) {
  Batch batch;
  for (const InodeId ino : done) batch.erase(mark_of(ino));
  CFFS_TRY_VOID(fs_.table_->write(batch));
  // Noted again while we worked: our erase may have come after that note's put.
  Batch again;
  for (const InodeId ino : done) {
    const NodePtr node = fs_.nodes_.find(ino);
    if (node && node->staged.load()) again.put(mark_of(ino), {});
  }
  return fs_.table_->write(again);
}

Status Consolidator::run_once(bool all) {
  const std::lock_guard one_at_a_time(work_mutex_);
  const std::vector<InodeId> directories = due(all);
  // Cleared before the scan: a write after it notes the directory anew.
  for (const InodeId ino : directories) {
    if (const NodePtr node = fs_.nodes_.find(ino)) node->staged.store(false);
  }
  const std::int64_t quiet_before =
      all ? std::numeric_limits<std::int64_t>::max() : fs_.now() - fs_.options_.quiet_ms * 1'000'000;
  std::vector<InodeId> waiting;
  const Status consolidated = relocation_.consolidate(directories, quiet_before, waiting);
  {
    const std::int64_t at = fs_.options_.clock->steady_ms();
    const std::lock_guard guard(mutex_);
    // After a failure all stay remembered; the next pass tries again.
    for (const InodeId ino : consolidated ? waiting : directories) directories_.emplace(ino, at);
  }
  CFFS_TRY_VOID(consolidated);
  std::vector<InodeId> done;
  const std::set<InodeId> still(waiting.begin(), waiting.end());
  for (const InodeId ino : directories) {
    if (!still.contains(ino)) done.push_back(ino);
  }
  CFFS_TRY_VOID(forget_marks(done));
  compact_noted();
  return {};
}

void Consolidator::compact_wasteful() {
  const std::lock_guard one_at_a_time(work_mutex_);
  compact_noted();
}

void Consolidator::compact_noted() {
  std::set<CompositeId> wasteful;
  {
    const std::lock_guard guard(mutex_);
    wasteful.swap(wasteful_);
  }
  for (const CompositeId id : wasteful) {
    if (const Status compacted = relocation_.compact(id); !compacted) {
      // One rotten composite must not keep the others from being compacted.
      fs_.log("composite " + std::to_string(id.value) + " is left as it is: " + compacted.error().message());
    }
  }
}

void Consolidator::run() {
  const auto pause = std::chrono::milliseconds(std::max<std::int64_t>(10, fs_.options_.quiet_ms / 4));
  std::string last_problem;
  std::unique_lock guard(mutex_);
  while (!stopping_) {
    wake_.wait_for(guard, pause, [this] { return stopping_; });
    if (stopping_) break;
    if (directories_.empty() && wasteful_.empty()) continue;
    guard.unlock();
    const Status done = run_once(false);
    if (!done && done.error().message() != last_problem) {
      last_problem = done.error().message();
      fs_.log("consolidation: " + last_problem);
    }
    guard.lock();
  }
}

Status FileSystem::consolidate_now() { return consolidator_->run_once(true); }

}  // namespace cffs
