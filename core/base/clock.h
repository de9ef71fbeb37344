// Time is injected, so tests can turn the clock. Wall-clock times are nanoseconds since the epoch, signed.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace cffs {

inline timespec to_timespec(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t seconds = ns / kSecond - (ns % kSecond < 0 ? 1 : 0);  // before 1970 too
  return {seconds, ns - seconds * kSecond};
}
inline std::int64_t to_ns(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

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
