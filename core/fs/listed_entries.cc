#include "core/fs/listed_entries.h"

#include <utility>

namespace cffs {
namespace {

bool is_of(const std::weak_ptr<Node>& one, const NodePtr& other) {
  return !one.owner_before(other) && !other.owner_before(one);
}

}  // namespace

// The lock is only tried: who lists waits for nobody.
std::optional<ListedEntries::Listed> ListedEntries::begin(const NodePtr& directory, std::uint64_t cookie) {
  if (!directory->entry_count.is_unknown()) return std::nullopt;
  if (cookie == 0) {
    if (!directory->entries.try_lock()) return std::nullopt;
    const std::uint32_t came = directory->entry_count.came();
    directory->entries.unlock();
    return Listed{0, came, 0, directory};
  }
  const MutexLock guard(mutex_);
  const auto paused = paused_.find(directory->ino);
  if (paused == paused_.end()) return std::nullopt;
  if (paused->second.cookie != cookie || !is_of(paused->second.directory, directory)) return std::nullopt;
  Listed listed = std::move(paused->second);
  paused_.erase(paused);
  return listed;
}

void ListedEntries::pause(Listed listed) {
  const NodePtr directory = listed.directory.lock();
  if (!directory) return;
  const MutexLock guard(mutex_);
  if (paused_.size() >= kMost && !paused_.contains(directory->ino)) paused_.erase(paused_.begin());
  paused_.insert_or_assign(directory->ino, std::move(listed));
}

void ListedEntries::finish(const Listed& listed) {
  const NodePtr directory = listed.directory.lock();
  if (!directory || !directory->entries.try_lock()) return;
  directory->entry_count.settle(listed.seen, listed.came_before);
  directory->entries.unlock();
}

}  // namespace cffs
