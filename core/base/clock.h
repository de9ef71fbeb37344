// Time is injected, so tests can turn the clock. Wall-clock times are nanoseconds since the epoch, signed.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace cffs {

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
    return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
  }
  std::int64_t steady_ms() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace cffs
