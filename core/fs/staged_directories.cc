#include "core/fs/staged_directories.h"

namespace cffs {
namespace {

constexpr std::int64_t kLongestWait = 10;  // times quiet_ms

Key mark_of(InodeId directory) { return Key::tagged(KeyTag::staged_directory, directory.value, 0); }

}  // namespace

void StagedDirectories::note(Batch& batch, Node& directory) {
  const std::int64_t at = clock_.steady_ms();
  directory.staged_at_ms.store(at, std::memory_order_relaxed);
  if (directory.staged.exchange(true)) return;
  batch.put(mark_of(directory.ino), {});
  const MutexLock guard(mutex_);
  directories_.emplace(directory.ino, at);
}

void StagedDirectories::note_wasteful(CompositeId id) {
  const MutexLock guard(mutex_);
  wasteful_.insert(id);
}

Status StagedDirectories::load() {
  std::vector<InodeId> found;
  CFFS_TRY_VOID(table_.scan_tag(KeyTag::staged_directory, [&](Key key, std::string_view) {
    found.push_back(InodeId{key.number()});
    return true;
  }));
  put_back(found);
  return {};
}

bool StagedDirectories::empty() const {
  const MutexLock guard(mutex_);
  return directories_.empty() && wasteful_.empty();
}

std::vector<InodeId> StagedDirectories::take(std::int64_t quiet_ms, bool all) {
  const std::int64_t at = clock_.steady_ms();
  std::vector<InodeId> found;
  {
    const MutexLock guard(mutex_);
    for (const auto& [ino, since] : directories_) {
      const NodePtr node = nodes_.find(ino);
      const std::int64_t changed = node ? node->staged_at_ms.load(std::memory_order_relaxed) : since;
      if (all || at - changed >= quiet_ms || at - since >= kLongestWait * quiet_ms) found.push_back(ino);
    }
    for (const InodeId ino : found) directories_.erase(ino);
  }
  // Before anybody scans them: a write after it notes the directory anew.
  for (const InodeId ino : found) {
    if (const NodePtr node = nodes_.find(ino)) node->staged.store(false);
  }
  return found;
}

void StagedDirectories::put_back(const std::vector<InodeId>& directories) {
  const std::int64_t at = clock_.steady_ms();
  const MutexLock guard(mutex_);
  for (const InodeId ino : directories) directories_.emplace(ino, at);
}

Status StagedDirectories::remember(const std::vector<InodeId>& directories) {
  Batch batch;
  for (const InodeId ino : directories) batch.put(mark_of(ino), {});
  return table_.write(batch);
}

Status StagedDirectories::forget(const std::vector<InodeId>& done) {
  Batch batch;
  for (const InodeId ino : done) batch.erase(mark_of(ino));
  CFFS_TRY_VOID(table_.write(batch));
  // Noted again while they were looked at: our erase may have come after that note's put.
  Batch again;
  for (const InodeId ino : done) {
    const NodePtr node = nodes_.find(ino);
    if (node && node->staged.load()) again.put(mark_of(ino), {});
  }
  return table_.write(again);
}

std::set<CompositeId> StagedDirectories::take_wasteful() {
  const MutexLock guard(mutex_);
  return std::exchange(wasteful_, {});
}

}  // namespace cffs
