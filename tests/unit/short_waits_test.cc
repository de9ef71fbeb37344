// Whether it is worth looking for what a device brings.
#include "fusefs/short_waits.h"

#include <catch2/catch.hpp>

namespace cffs {
namespace {

// A look takes a microsecond, as long as nobody else has the processor.
ShortWaits::Clock::time_point time_now;
ShortWaits::Clock::time_point tick() { return time_now += std::chrono::microseconds(1); }

bool never() { return false; }
bool now() { return true; }

// How many of so many waits somebody would look for.
int looks(ShortWaits& waits, int of) {
  int n = 0;
  for (int i = 0; i < of; ++i) n += waits.expected() ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("What comes soon is looked for, each time", "[short-waits]") {
  ShortWaits waits(tick);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(waits.expected());
    int asked = 0;
    REQUIRE(waits.look([&] { return ++asked == 3; }));
    CHECK(asked == 3);
  }
}

TEST_CASE("A device that does not answer soon is left to who sleeps, but for a try now and then",
          "[short-waits]") {
  ShortWaits waits(tick);
  for (int i = 0; i < 8; ++i) CHECK_FALSE(waits.look(never));
  CHECK(looks(waits, 6400) == 100);

  SECTION("until it is seen to answer") {
    CHECK(waits.look(now));
    CHECK(looks(waits, 100) == 100);
    SECTION("and given up at once where that was chance") {
      CHECK_FALSE(waits.look(never));
      CHECK(looks(waits, 64) == 1);
    }
  }
}

TEST_CASE("Where others have the processor meanwhile nobody goes on looking", "[short-waits]") {
  ShortWaits waits(tick);
  int asked = 0;
  const auto slow = [&] {
    ++asked;
    time_now += std::chrono::microseconds(200);
    return false;
  };
  for (int i = 0; i < 8; ++i) CHECK_FALSE(waits.look(slow));
  CHECK(asked == 8);
  CHECK(looks(waits, 63) <= 1);
}

}  // namespace cffs
