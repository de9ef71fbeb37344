// The model of costs: what a cache of files keeps, and what it begins with.
#include "replay/analysis/evaluation.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "grouping/frequency_policy.h"
#include "grouping/plan_groups.h"

namespace cffs::replay::test {

using grouping::Candidate;
using grouping::Group;
using grouping::Item;

Model of_groups(std::uint64_t cache_bytes) { return {cache_bytes, Reading::group, {}}; }
Model of_mount(std::uint64_t cache_bytes, const char* disk) {
  return {cache_bytes, Reading::mount, *find_disk(disk)};
}

TEST_CASE("a full cache drops files of a group, not the group: a miss reads what is gone") {
  const std::vector<Candidate> files{
      {1, 1000, "a", 0}, {1, 3000, "b", 0}, {2, 3000, "c", 0}, {2, 100'000, "d", 0}};
  const Layout layout = layout_of("pair", files, {{0, 1}, {2}});
  // a brings b; c makes b go, the oldest; a is still there; b alone is read again.
  const Evaluation e = evaluate(layout, files, {0, 2, 0, 1}, of_groups(5000));
  REQUIRE(e.hits == 1);
  REQUIRE(e.seeks == 3);
  REQUIRE(e.bytes_read == 4000 + 3000 + 3000);
  REQUIRE(e.bytes_used == 1000 + 3000 + 3000);  // b was read twice and used once
  // A file larger than the cache is held until the next one.
  REQUIRE(evaluate(layout, files, {3, 3, 0}, of_groups(5000)).hits == 1);
}

TEST_CASE("what fills the cache before is not counted, and not wasted") {
  const std::vector<Candidate> files{{1, 10'000, "a", 0}, {1, 30'000, "b", 0}};
  const Layout layout = layout_of("pair", files, {{0, 1}});
  const Evaluation cold = evaluate(layout, files, {0, 1}, of_groups(1 << 20));
  REQUIRE((cold.accesses == 2 && cold.hits == 1 && cold.bytes_read == 40'000));
  const Evaluation warmed = evaluate(layout, files, {0, 1}, of_groups(1 << 20), 1);
  REQUIRE((warmed.accesses == 1 && warmed.hits == 1 && warmed.seeks == 0));
  REQUIRE((warmed.bytes_read == 0 && warmed.bytes_used == 0));
}

// 20 directories of 10 files of 8 KiB, in one composite.
struct Directories {
  std::vector<Candidate> files;
  std::vector<Group> groups;
  Directories() {
    for (std::size_t d = 0; d < 20; ++d) {
      groups.emplace_back();
      for (std::size_t f = 0; f < 10; ++f) {
        groups.back().push_back(files.size());
        files.push_back({d + 1, 8192, std::to_string(d) + "/" + std::to_string(f), 0});
      }
    }
  }
};

TEST_CASE("as a mount reads: a first touch alone brings the file, what a plan says is wanted comes with it") {
  const Directories tree;
  std::vector<Item> one_of_each;
  for (Item d = 0; d < 20; ++d) one_of_each.push_back(10 * d + d % 10);
  const Layout unplanned = layout_of("unplanned", tree.files, tree.groups);
  const Evaluation alone = evaluate(unplanned, tree.files, one_of_each, of_mount(1 << 24, "ssd"));
  // Of what single requests have cost twice a composite would be read whole: not that soon.
  CHECK((alone.seeks == 20 && alone.bytes_read == 20 * 8192 && alone.waste() == 0));
  CHECK(evaluate(unplanned, tree.files, one_of_each, of_groups(1 << 24)).bytes_read == 200 * 8192);

  const Layout planned = layout_of("planned", tree.files, tree.groups, std::vector<double>(20, 0.9));
  std::vector<Item> all;
  for (Item i = 0; i < 200; ++i) all.push_back(i);
  const Evaluation believed = evaluate(planned, tree.files, all, of_mount(1 << 24, "ssd"));
  CHECK(believed.bytes_read == 200 * 8192);
  CHECK(believed.seeks <= 20);
  // Who never wants what a plan says is not brought it for long.
  CHECK(evaluate(planned, tree.files, one_of_each, of_mount(1 << 24, "ssd")).bytes_read < 150 * 8192);
}

TEST_CASE("as a mount reads: where an arm moves more is read at once than where none does") {
  const Directories tree;
  const Layout layout = layout_of("directory", tree.files, tree.groups);
  std::vector<Item> all;
  for (Item i = 0; i < 200; ++i) all.push_back(i);
  const Evaluation arm = evaluate(layout, tree.files, all, of_mount(1 << 24, "hdd"));
  const Evaluation none = evaluate(layout, tree.files, all, of_mount(1 << 24, "ssd"));
  CHECK((arm.seeks <= none.seeks && none.seeks < 60));
  CHECK((arm.bytes_read == 200 * 8192 && none.bytes_read == 200 * 8192));
  CHECK((arm.accesses == 200 && arm.hits == 200 - arm.seeks));
}

TEST_CASE("a group has what its policy and its plan say") {
  const std::vector<Candidate> files{{1, 10'000, "a", 0}, {1, 30'000, "b", 0}, {1, 9'000, "c", 0}};
  const auto plan = std::make_shared<grouping::PlanGroups>();
  plan->add_group({{"a", 0}, {"c", 0}}, 0.6);
  const Layout layout = lay_out("planned", grouping::FrequencyPolicy(plan), files);
  REQUIRE(layout.unit_of[0] == layout.unit_of[2]);
  REQUIRE(layout.unit_of[0] != layout.unit_of[1]);
  CHECK(layout.units[layout.unit_of[0]].planned_share == 0.6);
  CHECK(layout.units[layout.unit_of[1]].planned_share == 0);
}

TEST_CASE("a positioning is worth what the disk reads meanwhile") {
  REQUIRE(find_disk("hdd")->exchange_bytes() == Approx(871'000));
  REQUIRE(find_disk("cloud")->exchange_bytes() == Approx(62'500));
  REQUIRE(find_disk("network") == find_disk("cloud"));
  REQUIRE(find_disk("ssd")->exchange_bytes() == Approx(40'000));
  REQUIRE(find_disk("tape") == nullptr);
}

}  // namespace cffs::replay::test
