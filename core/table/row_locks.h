// Light-weight locks that make read-modify-write of rows atomic (TableFS §3.5).
//
// Striped by key: two keys may share a stripe, so a guard over several keys locks each stripe once, in
// ascending order; that order is what keeps guards from deadlocking. Rank 3 (docs/CONCURRENCY.md): after
// directory locks, before node locks. A thread holds at most one guard.
//
// What happens under an exclusive guard changes memory and table together: an exception that leaves it ends the process
// (core/base/undisturbed.h), or a row would say one thing and its node another.
//
// Each exclusive guard leaves a time stamp from one store-wide counter on its stripes. A readdir that scanned
// a snapshot taken at epoch() can then tell, row by row, that a row has not changed since, without reading it
// again.
//
// To the compiler all stripes of a store are one: it checks that whoever must hold a guard holds one, exclusive where it
// writes, and that nobody takes a second. That the guard is over the right keys it cannot check, since which stripes those
// are is known when it runs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/undisturbed.h"
#include "core/table/key.h"

namespace cffs {

// What a guard acquires, for the analysis: nothing but a name.
class CFFS_CAPABILITY("row stripes") RowStripes {};
inline constexpr RowStripes row_stripes;

class RowLocks {
  // The stamp beside its lock: they are used together.
  struct Stripe {
    SharedMutex mutex;
    std::uint64_t stamp CFFS_GUARDED_BY(mutex) = 0;
  };

 public:
  static constexpr std::size_t kStripes = 1024;

  // The analysis cannot follow locks that are taken in a loop.
  class CFFS_SCOPED_CAPABILITY Guard {
   public:
    Guard(RowLocks& locks, std::span<const Key> keys) CFFS_ACQUIRE(row_stripes) CFFS_NO_THREAD_SAFETY_ANALYSIS
        : locks_(&locks) {
      stripes_.reserve(keys.size());
      for (const Key key : keys) stripes_.push_back(stripe_of(key));
      std::sort(stripes_.begin(), stripes_.end());
      stripes_.erase(std::unique(stripes_.begin(), stripes_.end()), stripes_.end());
      for (const std::uint16_t s : stripes_) locks_->stripes_[s].mutex.lock();
    }
    ~Guard() CFFS_RELEASE() CFFS_NO_THREAD_SAFETY_ANALYSIS {
      if (stripes_.empty()) return;
      const std::uint64_t now = locks_->epoch_.fetch_add(1) + 1;
      for (const std::uint16_t s : stripes_) {
        locks_->stripes_[s].stamp = now;
        locks_->stripes_[s].mutex.unlock();
      }
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // Whether any row of these stripes may have been written after epoch() returned `epoch`: what was read of them since is what they
    // are if not.
    bool changed_since(std::uint64_t epoch) const CFFS_NO_THREAD_SAFETY_ANALYSIS {
      for (const std::uint16_t s : stripes_) {
        if (locks_->stripes_[s].stamp > epoch) return true;
      }
      return false;
    }

    // When a row of this key's stripe, which is one of these, may have been written last.
    std::uint64_t stamp_of(Key key) const CFFS_NO_THREAD_SAFETY_ANALYSIS {
      return locks_->stripes_[stripe_of(key)].stamp;
    }

   private:
    RowLocks* locks_;
    std::vector<std::uint16_t> stripes_;
    const Undisturbed undisturbed_;  // destroyed first
  };

  // One key, shared with other readers of its stripe. Acquires row_stripes by locking a stripe: the analysis knows the one
  // by name only, so these two are not looked into.
  class CFFS_SCOPED_CAPABILITY SharedGuard {
   public:
    SharedGuard(RowLocks& locks, Key key) CFFS_ACQUIRE_SHARED(row_stripes) CFFS_NO_THREAD_SAFETY_ANALYSIS
        : stripe_(locks.stripes_[stripe_of(key)]) {
      stripe_.mutex.lock_shared();
    }
    ~SharedGuard() CFFS_RELEASE() CFFS_NO_THREAD_SAFETY_ANALYSIS { stripe_.mutex.unlock_shared(); }
    SharedGuard(const SharedGuard&) = delete;
    SharedGuard& operator=(const SharedGuard&) = delete;

    // Whether any row of this stripe may have been written after epoch() returned `epoch`.
    bool changed_since(std::uint64_t epoch) const {
      stripe_.mutex.assert_held_shared();  // for as long as this guard lives
      return stripe_.stamp > epoch;
    }
    // When a row of this stripe, which is that of the key, may have been written last.
    std::uint64_t stamp_of(Key) const {
      stripe_.mutex.assert_held_shared();  // for as long as this guard lives
      return stripe_.stamp;
    }

   private:
    Stripe& stripe_;
  };

  std::uint64_t epoch() const { return epoch_.load(); }

 private:
  static std::uint16_t stripe_of(Key key) {
    // Fibonacci hashing of both halves; consecutive inodes must not share a stripe.
    const std::uint64_t mixed = (key.upper ^ (key.lower * 0x9e3779b97f4a7c15u)) * 0x9e3779b97f4a7c15u;
    return static_cast<std::uint16_t>(mixed >> 54);
  }
  std::array<Stripe, kStripes> stripes_;
  std::atomic<std::uint64_t> epoch_{0};
};

}  // namespace cffs
