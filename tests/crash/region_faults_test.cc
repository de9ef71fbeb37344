// What a region store still promises after a write of its device that failed: that it is not written is nobody's but the caller's
// whom it was told, and whoever comes next finds everything that is still to be done.
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "core/region/recovery.h"
#include "tests/crash/small_region_store.h"

namespace cffs::test {
namespace {

using region::kBlock;

// The machine as it is after a power cut now, of which nothing is left that was not flushed.
std::unique_ptr<RegionStore> after_power_cut(CrashDevice::State& state) {
  const MutexLock guard(state.mutex);
  return opened(std::make_shared<CrashDevice::State>(state.medium.cut(0)));
}

// Pieces of two blocks with holes between: so many that their extents take nodes, whose writes are the only ones of one block.
constexpr std::uint64_t kPieces = 60, kStep = 4 * kBlock;
void scatter(Object& object, char byte, std::uint64_t first = 0, std::uint64_t count = kPieces) {
  for (std::uint64_t i = first; i < first + count; ++i)
    REQUIRE(object.write_at(i * kStep, as_bytes(std::string(2 * kBlock, byte))));
}

// Refuses writes of nodes: so many, from now on.
void refuse_nodes(CrashDevice::State& state, int reason, int count) {
  state.refuses = [reason, count](std::uint64_t, std::uint64_t bytes) mutable {
    return bytes == kBlock && count-- > 0 ? reason : 0;
  };
}

}  // namespace

TEST_CASE("a node whose write failed is written by whoever comes next", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  auto object = *store->create("a", Create::exclusive);
  scatter(*object, '1');
  REQUIRE(object->sync());
  refuse_nodes(*state, EIO, 1);
  REQUIRE(!object->write_at(kPieces * kStep, as_bytes(std::string(2 * kBlock, '2'))));
  state->refuses = nullptr;
  REQUIRE(object->truncate((kPieces + 2) * kStep));
  REQUIRE(object->sync());
  const auto survivor = after_power_cut(*state);
  REQUIRE(survivor->layout()->damaged.empty());
  REQUIRE(contents(**survivor->open("a")) == contents(*object));
}

}  // namespace cffs::test
