// Which run of blocks the regions of a device give, and that no free block is ever missed.
#include "core/region/regions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/region/memory_device.h"
#include "core/region/region_store.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

region::Geometry small_geometry() {
  auto geometry = region::Geometry::for_device(std::uint64_t{16} << 20, std::uint64_t{1} << 20, 64 * 1024, 1);
  REQUIRE(geometry);
  return *geometry;
}

// Every block that there is, one by one.
std::vector<region::Run> take_all(region::Regions& regions) {
  std::vector<region::Run> taken;
  while (const auto run = regions.take_small(1, 0, true)) taken.push_back(*run);
  REQUIRE(regions.free_blocks() == 0);
  return taken;
}

}  // namespace

TEST_CASE("who asks for much gets a long run, also from a region that is not the nearest") {
  region::Regions regions(small_geometry());
  const std::vector<region::Run> taken = take_all(regions);
  constexpr std::uint64_t kLong = region::Regions::kLongRun + 16;
  const std::uint64_t last = regions.geometry().regions - 1,
                      far = regions.geometry().first_block(last) + regions.geometry().region_blocks - kLong;
  for (const region::Run& run : taken)
    if (run.block >= far || run.block % 2 == 0) regions.give(run);
  const std::uint64_t near = regions.geometry().first_block(1);
  const auto run = regions.take_small(kLong, near);
  REQUIRE(run);
  REQUIRE(run->count == kLong);
  REQUIRE(run->block == far);
  // Also who asks for more than there is anywhere: many crumbs are not a long run.
  regions.give(*run);
  const auto longest = regions.take_small(3 * kLong, near);
  REQUIRE(longest);
  REQUIRE(longest->block == far);
  REQUIRE(regions.take_small(kLong, near)->count == 1);  // crumbs are better than nothing
  // Small wishes stay where their object is.
  REQUIRE(regions.geometry().region_of(regions.take_small(1, near)->block) == 0);
}

TEST_CASE("regions give every free block before they are full, and none twice") {
  for (const std::uint64_t seed : seeds(4)) {
    region::Regions regions(small_geometry());
    const std::uint64_t all = regions.free_blocks();
    std::mt19937_64 random(seed);
    std::vector<region::Run> taken;
    std::set<std::uint64_t> blocks;
    const auto take = [&](std::uint64_t want, bool large) {
      const std::uint64_t near = taken.empty() ? 0 : taken[random() % taken.size()].block + 1;
      const auto run = large ? regions.take_large(want, near) : regions.take_small(want, near, true);
      if (!run) return false;
      REQUIRE(run->count > 0);
      REQUIRE(regions.geometry().region_of(run->block) ==
              regions.geometry().region_of(run->block + run->count - 1));
      for (std::uint64_t b = run->block; b < run->block + run->count; ++b) REQUIRE(blocks.insert(b).second);
      taken.push_back(*run);
      return true;
    };
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 60; ++i) (void)take(1 + random() % 200, random() % 3 == 0);
      std::shuffle(taken.begin(), taken.end(), random);
      for (std::size_t i = taken.size() * (random() % 10) / 10; i < taken.size(); ++i) {
        for (std::uint64_t b = taken[i].block; b < taken[i].block + taken[i].count; ++b) blocks.erase(b);
        regions.give(taken[i]);
      }
      std::erase_if(taken, [&](const region::Run& run) { return !blocks.contains(run.block); });
      REQUIRE(regions.free_blocks() + blocks.size() == all);
    }
    while (take(1 + random() % 200, false)) {
    }
    REQUIRE(blocks.size() == all);
  }
}

TEST_CASE("a medium is full of small objects, not of regions that were begun for a few each") {
  constexpr std::uint64_t kObject = 20'480;
  constexpr std::uint64_t kMedium = std::uint64_t{256} << 20;
  auto device = std::make_unique<MemoryDevice>(kMedium);
  REQUIRE(RegionStore::format(*device, {std::uint64_t{4} << 20, 512 * 1024}));
  auto store = *RegionStore::open(std::move(device));
  const std::string bytes(kObject, 'x');
  std::uint64_t made = 0;
  for (;; ++made) {
    const auto object = store->create("blobs/0/" + std::to_string(made), ObjectStore::Create::exclusive);
    if (!object || !(*object)->write_at(0, as_bytes(bytes))) break;
  }
  // Heads, tables of onodes and onodes take the rest: a block for each of them.
  REQUIRE(made * (kObject + 4096) > kMedium * 85 / 100);
}

TEST_CASE("the last onodes are for the table, however many objects users want") {
  auto device = std::make_unique<MemoryDevice>(std::uint64_t{16} << 20);
  REQUIRE(RegionStore::format(*device, {std::uint64_t{1} << 20, 64 * 1024}));
  auto store = *RegionStore::open(std::move(device));
  int made = 0;
  while (store->create("blobs/0/" + std::to_string(made), ObjectStore::Create::exclusive)) ++made;
  REQUIRE(store->space()->free_inodes == 0);
  REQUIRE_FALSE(store->create("composites/0/1", ObjectStore::Create::exclusive));
  for (int i = 0; i < 100; ++i)
    REQUIRE(store->create("table/" + std::to_string(i) + ".log", ObjectStore::Create::exclusive));
  for (int i = 0; i < 100; ++i) REQUIRE(store->remove("table/" + std::to_string(i) + ".log"));
  REQUIRE(store->remove("blobs/0/0"));
  REQUIRE(store->sync_names());
  REQUIRE(store->create("blobs/0/0", ObjectStore::Create::exclusive));
}

}  // namespace cffs::test
