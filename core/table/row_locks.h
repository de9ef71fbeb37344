// Light-weight locks that make read-modify-write of rows atomic (TableFS §3.5).
//
// Striped by key: two keys may share a stripe, so a guard over several keys locks each stripe once, in
// ascending order; that order is what keeps guards from deadlocking. Rank (docs/ARCHITECTURE.md): after
// directory locks, before node locks. A thread holds at most one guard.
//
// Each exclusive guard leaves a time stamp from one store-wide counter on its stripes. A readdir that scanned
// a snapshot taken at epoch() can then tell, row by row, that a row has not changed since, without reading it
// again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <vector>

#include "core/table/key.h"

namespace cffs {

class RowLocks {
 public:
  static constexpr std::size_t kStripes = 1024;

  class Guard {
   public:
    Guard(RowLocks& locks, std::span<const Key> keys) : locks_(&locks) {
      stripes_.reserve(keys.size());
      for (const Key key : keys) stripes_.push_back(stripe_of(key));
      std::sort(stripes_.begin(), stripes_.end());
      stripes_.erase(std::unique(stripes_.begin(), stripes_.end()), stripes_.end());
      for (const std::uint16_t s : stripes_) locks_->stripes_[s].lock();
    }
    ~Guard() {
      if (stripes_.empty()) return;
      const std::uint64_t now = locks_->epoch_.fetch_add(1) + 1;
      for (const std::uint16_t s : stripes_) {
        locks_->stamps_[s] = now;
        locks_->stripes_[s].unlock();
      }
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    RowLocks* locks_;
    std::vector<std::uint16_t> stripes_;
  };

  // One key, shared with other readers of its stripe.
  class SharedGuard {
   public:
    SharedGuard(RowLocks& locks, Key key)
        : stamp_(locks.stamps_[stripe_of(key)]), lock_(locks.stripes_[stripe_of(key)]) {}
    // Whether any row of this stripe may have been written after epoch() returned `epoch`.
    bool changed_since(std::uint64_t epoch) const { return stamp_ > epoch; }

   private:
    const std::uint64_t& stamp_;
    std::shared_lock<std::shared_mutex> lock_;
  };

  std::uint64_t epoch() const { return epoch_.load(); }

 private:
  static std::uint16_t stripe_of(Key key) {
    // Fibonacci hashing of both halves; consecutive inodes must not share a stripe.
    const std::uint64_t mixed = (key.upper ^ (key.lower * 0x9e3779b97f4a7c15u)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint16_t>(mixed >> 54);
  }
  std::array<std::shared_mutex, kStripes> stripes_;
  std::array<std::uint64_t, kStripes> stamps_{};  // each guarded by its stripe
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace cffs
