// A clock for tests that must say the same in each run, and tell earlier from later.
#pragma once

#include <atomic>

#include "core/base/clock.h"

namespace cffs::test {

// Every look at it is a second later than the one before.
class TickingClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return now_.fetch_add(1'000'000'000); }
  std::int64_t steady_ms() const override { return now_.load() / 1'000'000; }

 private:
  mutable std::atomic<std::int64_t> now_{1'000'000'000};
};

}  // namespace cffs::test
