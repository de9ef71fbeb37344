#include "core/composite/request_worth.h"

#include <algorithm>

namespace cffs {
namespace {

// Bytes that a request is worth where nothing is known of the medium, and what is believed of any.
constexpr std::uint64_t kUsualBreakEven = 64u << 10;
constexpr std::uint64_t kLeastBreakEven = 16u << 10, kMostBreakEven = 1u << 20;
// An arm takes 5 to 12 ms to a place far away, and then gives 100 to 250 MB/s.
constexpr std::uint64_t kArmBreakEven = 1u << 20;
constexpr double kHalfATurn = 2'000'000;                     // nanoseconds, of the fastest
constexpr double kFarAway = 60;                              // nanoseconds for a byte
constexpr std::uint64_t kSmallRequest = 64u << 10;           // requests that tell of a medium
constexpr std::uint64_t kSmallNeeded = 8, kLargeNeeded = 4;  // samples, before they are believed
constexpr std::uint64_t kSlowest = 16;                       // nanoseconds that a byte may take
constexpr double kMemory = 0.4;  // nanoseconds of a processor for a byte that is put into the page cache
constexpr double kForget = 1.0 / 32;
constexpr double kOutlier = 8;  // times as long as usual: no more than that is believed

constexpr double kLastInCrowd = 1.0 / 8;  // what the last one counts in the mean of who waits

}  // namespace

void RequestWorth::waits(unsigned at_once) {
  crowd_ += kLastInCrowd * (std::max(1.0, static_cast<double>(at_once)) - crowd_);
}

bool RequestWorth::knows_large() const { return large_.samples >= kLargeNeeded; }

void RequestWorth::Times::add(double b, double ns) {
  if (samples >= kSmallNeeded) ns = std::min(ns, kOutlier * nanoseconds);
  const double weight = std::max(kForget, 1.0 / static_cast<double>(samples + 1));
  bytes += weight * (b - bytes);
  nanoseconds += weight * (ns - nanoseconds);
  ++samples;
}

void RequestWorth::took(std::uint64_t bytes, std::uint64_t beyond, std::uint64_t from, std::uint64_t until) {
  const bool alone = from >= busy_until_;
  busy_until_ = std::max(busy_until_, until + beyond * kSlowest);
  if (!alone || bytes == 0) return;
  const std::uint64_t nanoseconds = until - from;
  if (bytes <= kSmallRequest) small_.add(static_cast<double>(bytes), static_cast<double>(nanoseconds));
  if (bytes >= kLarge) large_.add(static_cast<double>(bytes), static_cast<double>(nanoseconds));
}

// Past the memory, where readers' bytes do not go.
void RequestWorth::measured(const Sample& small, const Sample& large) {
  const auto times = [](const Sample& sample, std::uint64_t samples) {
    const auto bytes = static_cast<double>(sample.bytes);
    return Times{bytes, static_cast<double>(sample.nanoseconds) + kMemory * bytes, samples};
  };
  small_ = times(small, kSmallNeeded);
  large_ = times(large, kLargeNeeded);
}

// The line through small and large requests: what a request of nothing would take, in bytes of the medium's rate.
std::uint64_t RequestWorth::to_one() const {
  if (!is_measured()) return kUsualBreakEven;
  const double rise = large_.nanoseconds - small_.nanoseconds;
  const double slope = std::max(kMemory, rise / (large_.bytes - small_.bytes));
  const double worth = (small_.nanoseconds - slope * small_.bytes) / slope;
  return static_cast<std::uint64_t>(
      std::clamp(worth, static_cast<double>(kLeastBreakEven), static_cast<double>(kMostBreakEven)));
}

// No medium without an arm takes half a turn of a disk for one request, but for those far away, which are slow with bytes, too.
bool RequestWorth::has_arm() const {
  return small_.samples >= kSmallNeeded && small_.nanoseconds >= kHalfATurn &&
         large_.nanoseconds < kFarAway * large_.bytes;
}

// Of several who wait side by side each pays for its own request at the same time, and all of them for each byte. But for an arm,
// which moves for one after the other.
std::uint64_t RequestWorth::of_a_request() const {
  const std::uint64_t worth = to_one();
  if (small_.samples < kSmallNeeded) return worth;
  // The requests that were timed lie in one composite, and perhaps beside others: no way for the arm, and bytes that look dear.
  if (has_arm()) return std::max(worth, kArmBreakEven);
  return std::max(kLeastBreakEven, static_cast<std::uint64_t>(static_cast<double>(worth) / crowd_));
}

bool RequestWorth::is_measured() const { return small_.samples >= kSmallNeeded && knows_large(); }

std::uint64_t RequestWorth::to_one_as_measured() const {
  if (!is_measured()) return 0;
  return has_arm() ? std::max(to_one(), kArmBreakEven) : to_one();
}

std::uint64_t RequestWorth::bytes_per_second() const {
  const double rise = large_.nanoseconds - small_.nanoseconds;
  return is_measured() && rise > 0 ? static_cast<std::uint64_t>(1e9 * (large_.bytes - small_.bytes) / rise)
                                   : 0;
}

}  // namespace cffs
