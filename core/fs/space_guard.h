// Refuses new data while the backing store is nearly full, so that ENOSPC reaches the caller and not
// LevelDB's log.
//
// LevelDB that meets ENOSPC stops for good. A reserve is therefore kept free for what must always work:
// deleting, truncating, committing. Free space is asked for once per tranche of written bytes, not per write.
#pragma once

#include <algorithm>
#include <atomic>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class SpaceGuard {
 public:
  static constexpr std::uint64_t kReserveBytes = 48u << 20;  // memtable, log and one table of LevelDB
  static constexpr std::int64_t kTrancheBytes = 16 << 20;

  explicit SpaceGuard(ObjectStore& store) : store_(store) {}

  // ENOSPC where `bytes` more might not fit.
  Status charge(std::uint64_t bytes) {
    const auto cost = static_cast<std::int64_t>(bytes) + 512;  // a row's share
    if (budget_.fetch_sub(cost, std::memory_order_relaxed) >= cost) return {};
    const MutexLock guard(mutex_);
    if (budget_.load(std::memory_order_relaxed) > 0) return {};
    CFFS_TRY(const SpaceInfo space, store_.space());
    // Small stores: the reserve is at most an eighth of the medium.
    const std::uint64_t reserve = std::min(kReserveBytes, space.total_bytes / 8);
    if (space.available_bytes < reserve + static_cast<std::uint64_t>(cost)) {
      budget_.store(0, std::memory_order_relaxed);
      return fail(ENOSPC);
    }
    const auto room = static_cast<std::int64_t>(space.available_bytes - reserve);
    budget_.store(std::min(kTrancheBytes, room / 4), std::memory_order_relaxed);
    return {};
  }

 private:
  ObjectStore& store_;
  std::atomic<std::int64_t> budget_{0};
  Mutex mutex_;  // leaf: one asks the store at a time
};

}  // namespace cffs
