// Latencies in nanoseconds, in buckets of equal relative width (1/128 of an octave and finer): percentiles are exact to
// 0.8 %, merging loses nothing, and recording is an increment.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace cffs::replay {

class LatencyHistogram {
 public:
  void record(std::uint64_t ns) {
    ++buckets_[bucket_of(ns)];
    ++count_;
    sum_ += ns;
    if (ns > max_) max_ = ns;
    if (ns < min_) min_ = ns;
  }
  void merge(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.min_ < min_) min_ = other.min_;
    if (other.max_ > max_) max_ = other.max_;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t sum_ns() const { return sum_; }
  std::uint64_t min_ns() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max_ns() const { return max_; }
  // The smallest bucket value that `fraction` (0 to 1) of all latencies do not exceed; 0 where there are none.
  std::uint64_t percentile_ns(double fraction) const {
    // As many as are at least that share of all; a little less than a whole number is that number.
    const double share = fraction * static_cast<double>(count_);
    const auto wanted =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * (1 - 1e-12))));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (buckets_[i] > 0 && seen >= wanted) return value_of(i) < max_ ? value_of(i) : max_;
    }
    return max_;
  }
  // Visits the buckets that hold something, in order: index, largest value in ns, count.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (buckets_[i] > 0) visit(i, value_of(i), buckets_[i]);
    }
  }
  // Puts a stored histogram together again: its buckets one by one, then what buckets do not hold. False: no such bucket.
  bool restore_bucket(std::size_t bucket, std::uint64_t count) {
    if (bucket >= buckets_.size()) return false;
    buckets_[bucket] += count;
    count_ += count;
    return true;
  }
  void restore_extremes(std::uint64_t sum_ns, std::uint64_t min_ns, std::uint64_t max_ns) {
    sum_ = sum_ns;
    min_ = min_ns;
    max_ = max_ns;
  }

 private:
  static constexpr unsigned kSubBits = 7;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;
  static std::size_t bucket_of(std::uint64_t ns) {
    if (ns < (1u << kSubBits)) return ns;
    const unsigned octave = static_cast<unsigned>(std::bit_width(ns)) - 1 - kSubBits;
    return (std::size_t{octave + 1} << kSubBits) | ((ns >> octave) & ((1u << kSubBits) - 1));
  }
  // The largest value of the bucket.
  static std::uint64_t value_of(std::size_t bucket) {
    const std::size_t octave = bucket >> kSubBits;
    const std::uint64_t sub = bucket & ((1u << kSubBits) - 1);
    if (octave == 0) return sub;
    return (((1u << kSubBits) | sub) + 1) * (std::uint64_t{1} << (octave - 1)) - 1;
  }

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
};

}  // namespace cffs::replay
