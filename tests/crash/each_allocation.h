// A call with each of its allocations failing in turn.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <new>

#include "tests/crash/failing_allocations.h"

namespace cffs::test {

inline constexpr std::int64_t kEnough = 2'000;  // allocations: more than anything here makes

// Calls it with the first, the second, ... allocation in it failing, until none does; `check` behind each.
template <typename Call, typename Check>
void with_each_allocation_failing(Call call, Check check) {
  bool reached_end = false;
  for (std::int64_t n = 1; n < kEnough && !reached_end; ++n) {
    fail_allocation(n);
    try {
      call();
    } catch (const std::bad_alloc&) {
    }
    reached_end = !allocation_failed();
    fail_allocation(0);
    INFO("allocation " << n);
    check();
  }
  REQUIRE(reached_end);
}

}  // namespace cffs::test
