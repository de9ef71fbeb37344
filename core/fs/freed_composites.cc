#include "core/fs/freed_composites.h"

#include <algorithm>

namespace cffs {

void FreedComposites::note(const std::vector<Freed>& freed) {
  if (freed.empty()) return;
  const MutexLock guard(mutex_);
  for (const auto& [id, bytes] : freed) {
    auto it = waiting_.find(id);
    if (it == waiting_.end()) {
      if (waiting_.size() >= most_) {
        incomplete_ = true;
        continue;
      }
      it = waiting_.emplace(id, Waiting{}).first;
    }
    it->second.bytes += bytes;
  }
}

void FreedComposites::forget(const std::vector<CompositeId>& gone) {
  if (gone.empty()) return;
  const MutexLock guard(mutex_);
  for (const CompositeId id : gone) waiting_.erase(id);
}

std::vector<CompositeId> FreedComposites::take(std::uint64_t bytes, std::size_t most, std::int64_t now_ms) {
  std::vector<Freed> due;
  const MutexLock guard(mutex_);
  for (const auto& [id, waiting] : waiting_) {
    if (waiting.until_ms <= now_ms) due.emplace_back(id, waiting.bytes);
  }
  const auto kept = static_cast<std::ptrdiff_t>(std::min(most, due.size()));
  std::partial_sort(due.begin(), due.begin() + kept, due.end(),
                    [](const Freed& a, const Freed& b) { return a.second > b.second; });
  std::vector<CompositeId> taken;
  taken.reserve(static_cast<std::size_t>(kept));  // before any is taken
  std::uint64_t together = 0;
  for (auto it = due.begin(); it != due.begin() + kept && together < bytes; ++it) {
    together += it->second;
    taken.push_back(it->first);
    waiting_.erase(it->first);
  }
  return taken;
}

void FreedComposites::put_back(CompositeId id, std::int64_t until_ms) {
  const MutexLock guard(mutex_);
  waiting_[id].until_ms = until_ms;
}

bool FreedComposites::incomplete() const {
  const MutexLock guard(mutex_);
  return incomplete_;
}

void FreedComposites::scan_begins() {
  const MutexLock guard(mutex_);
  incomplete_ = false;
}

void FreedComposites::scan_failed() {
  const MutexLock guard(mutex_);
  incomplete_ = true;
}

std::pair<std::size_t, std::uint64_t> FreedComposites::backlog() const {
  const MutexLock guard(mutex_);
  std::uint64_t bytes = 0;
  for (const auto& [id, waiting] : waiting_) bytes += waiting.bytes;
  return {waiting_.size(), bytes};
}

}  // namespace cffs
