// Latencies in nanoseconds, counted in buckets: 16 of equal width to each octave, so that what is read off is at most a sixteenth
// above what was recorded, and single nanoseconds up to 16.
//
// A bucket holds values above its lower bound up to and including its upper one, as Prometheus's `le` means it; every power of two is
// such a bound, so a histogram with these as its bounds is exact. Whatever is longer than 18 minutes is in the last bucket.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace cffs {

inline constexpr unsigned kLatencySubBits = 4;
inline constexpr unsigned kLatencyOctaves = 40;  // 2^40 ns
inline constexpr std::size_t kLatencyBuckets = std::size_t{kLatencyOctaves - kLatencySubBits + 1}
                                               << kLatencySubBits;

// Where a latency is counted.
inline std::size_t latency_bucket(std::uint64_t ns) {
  constexpr std::uint64_t kSubs = std::uint64_t{1} << kLatencySubBits;
  const std::uint64_t below = ns == 0 ? 0 : ns - 1;
  if (below < kSubs) return static_cast<std::size_t>(below);
  const unsigned octave = static_cast<unsigned>(std::bit_width(below)) - 1 - kLatencySubBits;
  const std::size_t bucket = (std::size_t{octave + 1} << kLatencySubBits) | ((below >> octave) & (kSubs - 1));
  return std::min(bucket, kLatencyBuckets - 1);
}

// The largest latency that belongs there.
inline std::uint64_t latency_upper_ns(std::size_t bucket) {
  constexpr std::uint64_t kSubs = std::uint64_t{1} << kLatencySubBits;
  const std::size_t octave = bucket >> kLatencySubBits;
  const std::uint64_t sub = bucket & (kSubs - 1);
  if (octave == 0) return sub + 1;
  return (kSubs + sub + 1) << (octave - 1);
}

// What was counted by one moment.
struct LatencyCounts {
  std::array<std::uint64_t, kLatencyBuckets> buckets{};
  std::uint64_t sum_ns = 0;

  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const std::uint64_t n : buckets) all += n;
    return all;
  }
  // The upper bound of the bucket that has the latency which `fraction` (0 to 1) of all do not exceed; 0 where there are none.
  std::uint64_t percentile_ns(double fraction) const {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const double exact = fraction * static_cast<double>(all);
    auto wanted = static_cast<std::uint64_t>(exact);
    if (static_cast<double>(wanted) < exact) ++wanted;
    wanted = std::clamp<std::uint64_t>(wanted, 1, all);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      seen += buckets[i];
      if (seen >= wanted) return latency_upper_ns(i);
    }
    return latency_upper_ns(buckets.size() - 1);
  }
  // How many took at most so long; exact where it is a power of two.
  std::uint64_t up_to(std::uint64_t ns) const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < buckets.size() && latency_upper_ns(i) <= ns; ++i) n += buckets[i];
    return n;
  }
};

}  // namespace cffs
