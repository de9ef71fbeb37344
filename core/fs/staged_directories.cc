#include "core/fs/staged_directories.h"

#include <algorithm>

namespace cffs {
namespace {

constexpr std::int64_t kLongestWait = 10;  // times quiet_ms

Key mark_of(InodeId directory) { return Key::tagged(KeyTag::staged_directory, directory.value, 0); }

Key mark_of(CompositeId composite) { return Key::tagged(KeyTag::wasteful_composite, composite.value, 0); }

}  // namespace

void StagedDirectories::note(Batch& batch, Node& directory) {
  const std::int64_t at = clock_.steady_ms();
  directory.staged_at_ms.store(at, std::memory_order_relaxed);
  if (directory.staged.exchange(true)) return;
  batch.put(mark_of(directory.ino), {});
  const MutexLock guard(mutex_);
  directories_.emplace(directory.ino, at);
}

void StagedDirectories::mark_wasteful(Batch& batch, const std::vector<CompositeId>& wasteful,
                                      const std::vector<CompositeId>& emptied) {
  if (wasteful.empty() && emptied.empty()) return;
  const MutexLock guard(mutex_);
  for (const CompositeId id : wasteful) {
    if (marked_.insert(id).second) batch.put(mark_of(id), {});
  }
  for (const CompositeId id : emptied) {
    wasteful_.erase(id);
    if (marked_.erase(id) != 0) batch.erase(mark_of(id));
  }
}

void StagedDirectories::note_wasteful(const std::vector<CompositeId>& ids) {
  if (ids.empty()) return;
  const MutexLock guard(mutex_);
  for (const CompositeId id : ids) wasteful_.try_emplace(id, 0);
}

// Where a block of these rows cannot be read, what it says waits for a repair, and the store opens: nothing is lost by waiting.
Status StagedDirectories::load() {
  std::vector<InodeId> found;
  Status done = table_.scan_tag(KeyTag::staged_directory, [&](Key key, std::string_view) {
    found.push_back(InodeId{key.number()});
    return true;
  });
  if (!done && done.error().kind != ErrorKind::corruption) return done;
  put_back(found);
  std::vector<CompositeId> wasteful;
  done = table_.scan_tag(KeyTag::wasteful_composite, [&](Key key, std::string_view) {
    wasteful.push_back(CompositeId{key.number()});
    return true;
  });
  if (!done && done.error().kind != ErrorKind::corruption) return done;
  note_wasteful(wasteful);
  const MutexLock guard(mutex_);
  marked_.insert(wasteful.begin(), wasteful.end());
  return {};
}

bool StagedDirectories::empty() const {
  const std::int64_t at = clock_.steady_ms();
  const MutexLock guard(mutex_);
  return directories_.empty() && std::none_of(wasteful_.begin(), wasteful_.end(),
                                              [&](const auto& waits) { return waits.second <= at; });
}

std::vector<InodeId> StagedDirectories::take(std::int64_t quiet_ms, bool all) {
  const std::int64_t at = clock_.steady_ms();
  std::vector<InodeId> found;
  {
    const MutexLock guard(mutex_);
    for (const auto& [ino, since] : directories_) {
      // A node that went meanwhile took its time stamp along. A directory that is met too early costs a scan: each file's own
      // time decides whether it is moved.
      const NodePtr node = nodes_.find(ino);
      const std::int64_t noted = node ? node->staged_at_ms.load(std::memory_order_relaxed) : 0;
      const std::int64_t changed = noted != 0 ? noted : since;
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
  {
    const MutexLock guard(mutex_);
    for (const InodeId ino : done) {
      if (directories_.contains(ino)) again.put(mark_of(ino), {});
    }
  }
  return table_.write(again);
}

std::vector<CompositeId> StagedDirectories::take_wasteful() {
  const std::int64_t at = clock_.steady_ms();
  std::vector<CompositeId> due;
  const MutexLock guard(mutex_);
  due.reserve(wasteful_.size());  // before any is taken
  for (auto it = wasteful_.begin(); it != wasteful_.end();) {
    if (it->second <= at) {
      due.push_back(it->first);
      it = wasteful_.erase(it);
    } else {
      ++it;
    }
  }
  return due;
}

void StagedDirectories::put_back_wasteful(CompositeId id, std::int64_t in_ms) {
  const MutexLock guard(mutex_);
  wasteful_[id] = clock_.steady_ms() + in_ms;
}

Status StagedDirectories::forget_wasteful(CompositeId id) {
  {
    const MutexLock guard(mutex_);
    if (marked_.erase(id) == 0) return {};
  }
  Batch batch;
  batch.erase(mark_of(id));
  return table_.write(batch);
}

StagedDirectories::Backlog StagedDirectories::backlog() const {
  const std::int64_t now = clock_.steady_ms();
  const MutexLock guard(mutex_);
  Backlog backlog{directories_.size(), wasteful_.size(), 0};
  for (const auto& [directory, since] : directories_)
    backlog.longest_ms = std::max(backlog.longest_ms, now - since);
  return backlog;
}

}  // namespace cffs
