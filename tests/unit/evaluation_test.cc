// The model of costs: what a cache of files keeps, and what it begins with.
#include "grouping/evaluation.h"

#include <catch2/catch.hpp>

namespace cffs::grouping::test {

TEST_CASE("a full cache drops files of a group, not the group: a miss reads what is gone") {
  const std::vector<Candidate> files{
      {1, 1000, "a", 0}, {1, 3000, "b", 0}, {2, 3000, "c", 0}, {2, 100'000, "d", 0}};
  const Layout layout = layout_of("pair", files, {{0, 1}, {2}});
  // a brings b; c makes b go, the oldest; a is still there; b alone is read again.
  const Evaluation e = evaluate(layout, files, {0, 2, 0, 1}, 5000);
  REQUIRE(e.hits == 1);
  REQUIRE(e.seeks == 3);
  REQUIRE(e.bytes_read == 4000 + 3000 + 3000);
  REQUIRE(e.bytes_used == 1000 + 3000 + 3000);  // b was read twice and used once
  // A file larger than the cache is held until the next one.
  REQUIRE(evaluate(layout, files, {3, 3, 0}, 5000).hits == 1);
}

TEST_CASE("what fills the cache before is not counted, and not wasted") {
  const std::vector<Candidate> files{{1, 10'000, "a", 0}, {1, 30'000, "b", 0}};
  const Layout layout = layout_of("pair", files, {{0, 1}});
  const Evaluation cold = evaluate(layout, files, {0, 1}, 1 << 20);
  REQUIRE((cold.accesses == 2 && cold.hits == 1 && cold.bytes_read == 40'000));
  const Evaluation warmed = evaluate(layout, files, {0, 1}, 1 << 20, 1);
  REQUIRE((warmed.accesses == 1 && warmed.hits == 1 && warmed.seeks == 0));
  REQUIRE((warmed.bytes_read == 0 && warmed.bytes_used == 0));
}

TEST_CASE("a positioning is worth what the disk reads meanwhile") {
  REQUIRE(find_disk("hdd")->exchange_bytes() == Approx(871'000));
  REQUIRE(find_disk("cloud")->exchange_bytes() == Approx(62'500));
  REQUIRE(find_disk("network") == find_disk("cloud"));
  REQUIRE(find_disk("ssd")->exchange_bytes() == Approx(40'000));
  REQUIRE(find_disk("tape") == nullptr);
}

}  // namespace cffs::grouping::test
