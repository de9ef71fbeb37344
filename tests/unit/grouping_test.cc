#include <catch2/catch.hpp>
#include <random>

#include "grouping/packing.h"

namespace cffs::grouping::test {

TEST_CASE("the directory policy groups neighbours of one directory, up to the maximum") {
  const auto policy = make_policy("directory");
  const std::vector<Candidate> c{{1, 10, {}, 0}, {1, 20, {}, 0},  {2, 5, {}, 0}, {2, 90, {}, 0},
                                 {2, 10, {}, 0}, {3, 500, {}, 0}, {3, 1, {}, 0}};
  REQUIRE(policy->group(c, 100, {}) == std::vector<Group>{{0, 1}, {2, 3}, {4}, {5}, {6}});
  REQUIRE(policy->group({}, 100, {}).empty());
  REQUIRE(make_policy("none")->group(c, 100, {}).empty());
  REQUIRE(!make_policy("none")->makes_composites());
  REQUIRE(make_policy("nonsense") == nullptr);
}

TEST_CASE("a directory too large for one group is cut where it is cut now, if that can be") {
  const auto grouped = [](const std::vector<std::pair<std::uint64_t, std::uint64_t>>& files) {
    std::vector<Candidate> candidates;
    for (const auto& [size, place] : files) candidates.push_back({1, size, {}, 0, place});
    return group_by_directory(candidates, {}, 100);
  };
  // As if from left to right: {0, 1}, {2, 3}.
  CHECK(grouped({{50, 0}, {40, 0}, {30, 0}, {70, 0}}) == std::vector<Group>{{0, 1}, {2, 3}});
  // {1, 2} lies together, and stays so.
  CHECK(grouped({{50, 1}, {40, 2}, {30, 2}, {70, 3}}) == std::vector<Group>{{0}, {1, 2}, {3}});
  // What fits is joined.
  CHECK(grouped({{50, 1}, {20, 2}, {30, 2}, {70, 3}}) == std::vector<Group>{{0, 1, 2}, {3}});
  // What lies together and is too large is cut like any other.
  CHECK(grouped({{50, 1}, {40, 2}, {70, 2}, {10, 3}}) == std::vector<Group>{{0, 1}, {2, 3}});
}

TEST_CASE("every candidate ends in exactly one group and pack, in order, within the maximum") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Candidate> candidates;
    std::uint64_t directory = 0;
    for (std::uint64_t i = random() % 100; i > 0; --i) {
      directory += random() % 3 == 0;
      candidates.push_back({directory, random() % 200, {}, 0});
    }
    const std::uint64_t room = random() % 1000;
    std::size_t next = 0;
    bool first = true;
    for (const Pack& pack :
         pack(make_policy("directory")->group(candidates, 1000, {}), candidates, 1000, room)) {
      std::uint64_t bytes = 0;
      for (const Group& group : pack.groups) {
        for (const std::size_t i : group) {
          REQUIRE(i == next++);
          bytes += candidates[i].size;
        }
      }
      REQUIRE(bytes == pack.bytes);
      REQUIRE(bytes <= (first ? room : 1000));
      first = false;
    }
    REQUIRE(next == candidates.size());
  }
}

}  // namespace cffs::grouping::test
