// A clock for tests that choose when.
#pragma once

#include <atomic>

#include "core/base/clock.h"

namespace cffs::test {

// Time passes when it is told to.
class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return (ms_.load() + ahead_ms_.load()) * 1'000'000; }
  std::int64_t steady_ms() const override { return ms_.load(); }
  void pass_ms(std::int64_t ms) { ms_.fetch_add(ms); }
  // Of the wall clock alone: somebody sets it.
  void set_ahead_ms(std::int64_t ms) { ahead_ms_.store(ms); }

 private:
  std::atomic<std::int64_t> ms_{1}, ahead_ms_{0};
};

}  // namespace cffs::test
