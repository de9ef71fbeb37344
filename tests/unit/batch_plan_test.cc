// What a plan of many files reads with one call, and where in memory each comes to lie.
#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "core/batch/batch_reader.h"

namespace cffs::test {
namespace {

FilePlace member(std::uint64_t composite, std::uint64_t offset, std::uint64_t size) {
  FilePlace place;
  place.size = size;
  place.home = Home::composite;
  place.composite = CompositeId{composite};
  place.offset = offset;
  return place;
}
FilePlace in_table(std::uint64_t size) {
  FilePlace place;
  place.size = size;
  place.home = size == 0 ? Home::none : Home::inline_;
  return place;
}

// Each file of `places` lies in memory where its run's bytes come to lie, and nothing lies twice but what is shared.
void expect_sound(const std::vector<FilePlace>& places, const BatchPlan& plan) {
  std::set<std::size_t> seen;
  std::size_t covered = 0, free_from = 0;
  for (const BatchPlan::Run& run : plan.runs()) {
    CHECK(run.at % BatchPlan::kAlignment == 0);
    CHECK(run.at >= free_from);
    CHECK(run.first_member == covered);
    free_from = run.at + (run.end - run.begin);
    for (std::size_t i = 0; i < run.members; ++i) {
      const BatchPlan::Member& m = plan.members()[run.first_member + i];
      const FilePlace& file = places[m.file];
      CHECK(file.composite == run.composite);
      CHECK(file.offset >= run.begin);
      CHECK(file.offset + file.size <= run.end);
      CHECK(m.at == run.at + (file.offset - run.begin));
      CHECK(seen.insert(m.file).second);
    }
    covered += run.members;
  }
  CHECK(covered == plan.members().size());
  for (const BatchPlan::Member& other : plan.others()) {
    CHECK(other.at % BatchPlan::kAlignment == 0);
    CHECK(other.at >= free_from);
    free_from = other.at + places[other.file].size;
    CHECK(seen.insert(other.file).second);
  }
  CHECK(plan.memory_bytes() == free_from);
  for (std::size_t i = 0; i < places.size(); ++i) CHECK(seen.count(i) == (places[i].size > 0 ? 1 : 0));
}

}  // namespace

TEST_CASE("a plan reads what lies near with one call, in whatever order it is asked for") {
  const std::vector<FilePlace> places = {member(7, 9000, 100),  member(7, 100, 4000), in_table(300),
                                         member(7, 4200, 4700), in_table(0),          member(8, 100, 50)};
  const BatchPlan plan(places);
  expect_sound(places, plan);
  REQUIRE(plan.runs().size() == 2);
  CHECK(plan.runs()[0].begin == 100);
  CHECK(plan.runs()[0].end == 9100);
  CHECK(plan.runs()[0].members == 3);
  CHECK(plan.runs()[1].composite == CompositeId{8});
  REQUIRE(plan.others().size() == 1);
  CHECK(plan.others()[0].file == 2);
}

TEST_CASE("a plan of nothing, or of empty files, takes no memory") {
  CHECK(BatchPlan({}).memory_bytes() == 0);
  const std::vector<FilePlace> empty(3, in_table(0));
  const BatchPlan plan(empty);
  CHECK(plan.memory_bytes() == 0);
  CHECK(plan.runs().empty());
  CHECK(plan.others().empty());
}

TEST_CASE("a plan's reads end where what follows is far, and where they are large enough") {
  SECTION("as near as may be, and one byte further") {
    const std::vector<FilePlace> places = {member(1, 0, 10), member(1, 10 + BatchPlan::kNearBytes, 10),
                                           member(1, 21 + 2 * BatchPlan::kNearBytes, 10)};
    const BatchPlan plan(places);
    expect_sound(places, plan);
    REQUIRE(plan.runs().size() == 2);
    CHECK(plan.runs()[0].members == 2);
  }
  SECTION("many in a row") {
    std::vector<FilePlace> places;
    for (std::uint64_t i = 0; i < 100; ++i) places.push_back(member(1, i * 10'000, 10'000));
    const BatchPlan plan(places);
    expect_sound(places, plan);
    CHECK(plan.runs().size() == 4);
    for (const BatchPlan::Run& run : plan.runs()) CHECK(run.end - run.begin <= BatchPlan::kRunBytes);
  }
  SECTION("a file that is larger is read whole, alone") {
    const std::vector<FilePlace> places = {member(1, 0, 10), member(1, 10, 2 * BatchPlan::kRunBytes),
                                           member(1, 10 + 2 * BatchPlan::kRunBytes, 10)};
    const BatchPlan plan(places);
    expect_sound(places, plan);
    REQUIRE(plan.runs().size() == 3);
    CHECK(plan.runs()[1].end - plan.runs()[1].begin == 2 * BatchPlan::kRunBytes);
  }
}

TEST_CASE("files that are longer together than any memory are no plan") {
  constexpr auto kLongest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (const std::vector<std::uint64_t>& sizes : {std::vector{kLongest},
                                                  {kLongest, kLongest, std::uint64_t{4096}},
                                                  {kLongest / 2, kLongest / 2, kLongest / 2},
                                                  {std::uint64_t{1}, kLongest - 64}}) {
    std::vector<FilePlace> places;
    for (const std::uint64_t size : sizes) places.push_back(in_table(size));
    CHECK(BatchPlan(places).memory_bytes() == BatchPlan::kMoreThanAny);
  }
}

TEST_CASE("files that share a content share its memory") {
  const std::vector<FilePlace> places = {member(1, 50, 500), member(1, 50, 500), member(1, 600, 10)};
  const BatchPlan plan(places);
  expect_sound(places, plan);
  REQUIRE(plan.members().size() == 3);
  CHECK(plan.members()[0].at == plan.members()[1].at);
  CHECK(plan.memory_bytes() == 560);
}

}  // namespace cffs::test
