// The plan that a store keeps and power cuts: whenever the power is cut, the one before or the new one is there, whole; once it
// is said to be kept, the new one.
#include <catch2/catch.hpp>

#include "core/reorganise/plan_object.h"
#include "tests/crash/crash_store.h"

namespace cffs::test {
namespace {

grouping::PlanGroups plan_of(std::size_t groups) {
  grouping::PlanGroups plan;
  for (std::size_t g = 0; g < groups; ++g)
    plan.add_group({{"page" + std::to_string(g), 10 + g}, {"image", 90 + g}});
  return plan;
}

// It must be whole.
std::size_t groups_in(ObjectStore& store) {
  const auto plan = read_plan_object(store);
  INFO((plan ? "" : plan.error().message()));
  REQUIRE(plan);
  REQUIRE(*plan);
  return (*plan)->size();
}

}  // namespace

TEST_CASE("a plan half written is never taken for a whole one, and a kept one stays") {
  constexpr std::size_t kBefore = 300, kAfter = 400;
  CrashStore store;
  REQUIRE(write_plan_object(store, plan_of(kBefore)));
  std::vector<CrashMedium> media;
  store.on_change([&](const std::string&) { media.push_back(store.medium()); });
  REQUIRE(write_plan_object(store, plan_of(kAfter)));
  store.on_change(nullptr);
  media.push_back(store.medium());
  std::size_t before = 0;
  for (std::size_t n = 0; n < media.size(); ++n) {
    for (std::uint64_t way = 0; way < 20; ++way) {
      INFO("cut " << n << " of " << media.size() << ", way " << way);
      CrashStore left(media[n].cut(way));
      const std::size_t groups = groups_in(left);
      const bool is_kept = n + 1 == media.size();
      CHECK((groups == kAfter || (groups == kBefore && !is_kept)));
      if (groups == kBefore) ++before;
    }
  }
  CHECK(before > 0);
}

TEST_CASE("a plan that cannot be made durable leaves the one before") {
  CrashStore store;
  REQUIRE(write_plan_object(store, plan_of(3)));
  store.fail_sync(1);
  CHECK_FALSE(write_plan_object(store, plan_of(4)));
  CHECK(groups_in(store) == 3);
  store.tear_write(1);
  CHECK_FALSE(write_plan_object(store, plan_of(5)));
  CHECK(groups_in(store) == 3);
  REQUIRE(write_plan_object(store, plan_of(6)));
  CHECK(groups_in(store) == 6);
}

}  // namespace cffs::test
