// Time is injected, so tests can turn the clock. Wall-clock times are nanoseconds since the epoch, signed.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <limits>

namespace cffs {

inline timespec to_timespec(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t within = ns % kSecond;
  if (within >= 0) return {ns / kSecond, within};
  return {ns / kSecond - 1, within + kSecond};  // before 1970
}
// Whether a time of so many seconds, and less than one more, is one that to_ns() need not change.
inline bool fits_ns(std::int64_t seconds) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  return seconds >= -kMost && seconds < kMost;
}

// Times that 64 bits of nanoseconds cannot hold (before 1677, after 2262) become the nearest that they can.
inline std::int64_t to_ns(const timespec& t) {
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(t.tv_sec, std::int64_t{1'000'000'000}, &ns) ||
      __builtin_add_overflow(ns, t.tv_nsec, &ns)) {
    return t.tv_sec < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  return ns;
}

// From one time to another, in their unit. A file's times are whatever somebody said, so a difference that 64 bits cannot hold becomes the
// nearest that they can.
inline std::int64_t time_between(std::int64_t from, std::int64_t to) {
  std::int64_t between = 0;
  if (!__builtin_sub_overflow(to, from, &between)) return between;
  return from < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

// Nanoseconds of a monotonic clock, since some moment: how long things take on the medium, which no test's clock can turn.
inline std::uint64_t elapsed_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() const = 0;     // wall clock: file times
  virtual std::int64_t steady_ms() const = 0;  // monotonic: quiet periods, intervals
};

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    timespec ts;
    // The coarse clock is what the kernel stamps native files with, and needs no system call.
    clock_gettime(CLOCK_REALTIME_COARSE, &ts);
    return to_ns(ts);
  }
  std::int64_t steady_ms() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace cffs
