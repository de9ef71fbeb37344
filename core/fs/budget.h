// A budget that many share, and the share that one has of it: what files without a name may hold, in sum.
//
// Any thread; no lock. A share gives back what it took when it goes, so the budget must outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace cffs {

class Budget {
 public:
  explicit Budget(std::uint64_t most) : most_(most) {}

  // False: so much more is not to be had.
  bool take(std::uint64_t more) {
    const std::uint64_t before = taken_.fetch_add(more, std::memory_order_relaxed);
    if (before <= most_ && more <= most_ - before) return true;
    give(more);
    return false;
  }
  void give(std::uint64_t back) { taken_.fetch_sub(back, std::memory_order_relaxed); }
  std::uint64_t most() const { return most_; }
  std::uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t> taken_{0};
};

class Share {
 public:
  Share() = default;
  ~Share() { reset(); }
  Share(Share&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)), amount_(std::exchange(other.amount_, 0)) {}
  Share& operator=(Share&& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(amount_, other.amount_);
    return *this;
  }

  // From now on it is so much. False: the budget has no more, and the share is as it was.
  bool resize(Budget& of, std::uint64_t amount) {
    if (amount > amount_ && !of.take(amount - amount_)) return false;
    if (amount < amount_) of.give(amount_ - amount);
    of_ = &of;
    amount_ = amount;
    return true;
  }
  void reset() {
    if (of_ != nullptr) of_->give(amount_);
    of_ = nullptr;
    amount_ = 0;
  }

 private:
  Budget* of_ = nullptr;
  std::uint64_t amount_ = 0;
};

}  // namespace cffs
