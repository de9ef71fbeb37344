// The tree of extents of a region store's object: what it says is what was put, and what is durable is never written over.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "core/region/mapping.h"
#include "core/region/memory_device.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

using namespace region;

constexpr std::uint64_t kDeviceBytes = std::uint64_t{64} << 20;

Geometry small_geometry() {
  return *Geometry::for_device(kDeviceBytes, std::uint64_t{1} << 20, 64 * 1024, 77);
}

// What each block of the object is: its block of the device, and whether it was written.
using Blocks = std::map<std::uint64_t, std::pair<std::uint64_t, bool>>;

Blocks blocks_of(const Mapping& mapping) {
  Blocks blocks;
  for (std::uint64_t at = 0; at < mapping.end();) {
    const auto piece = mapping.at(at, mapping.end() - at);
    for (std::uint64_t i = 0; piece.block != 0 && i < piece.count; ++i)
      blocks[at + i] = {piece.block + i, piece.written};
    at += piece.count;
  }
  return blocks;
}

// An object's mapping on a device, with a place of its own for nodes.
struct Stored {
  Geometry geometry = small_geometry();
  MemoryDevice device{kDeviceBytes};
  OnodeId owner{3, 5};
  std::uint64_t next_node = 2000;
  std::set<std::uint64_t> free_nodes;
  std::vector<Run> freed, unneeded;

  Onode store(Mapping& mapping) {
    Onode onode;
    onode.name = "blobs/0/1";
    const Mapping::Medium medium{geometry, owner,
                                 [this]() -> std::optional<std::uint64_t> {
                                   if (free_nodes.empty()) return next_node++;
                                   return free_nodes.extract(free_nodes.begin()).value();
                                 },
                                 [this](std::uint64_t block, const std::string& bytes) {
                                   return device.write(block * kBlock, as_bytes(bytes));
                                 }};
    REQUIRE(mapping.store(medium, onode, freed, unneeded));
    return onode;
  }
};

}  // namespace

TEST_CASE("a mapping is what was put into it, however large, and as it was when it became durable") {
  for (const std::uint64_t seed : seeds(12)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    // From one that fits into its onode to one with two levels of nodes.
    const std::uint64_t logical_blocks = std::array<std::uint64_t, 4>{40, 600, 20'000, 40'000}[seed % 4];
    Stored stored;
    Mapping mapping;
    Blocks model;
    Blocks durable;
    Onode durable_onode = stored.store(mapping), live_onode = durable_onode;
    Blocks live;
    std::uint64_t next_block = 5'000'000;
    std::uint8_t deepest = 0;
    for (std::uint64_t i = 0; i < logical_blocks * 2; ++i) {
      const std::uint64_t at = random() % logical_blocks,
                          count = 1 + random() % (random() % 10 == 0 ? 30 : 2);
      if (random() % 8 == 0) {
        std::uint64_t had = 0;
        for (std::uint64_t b = at; b < at + count; ++b) had += model.erase(b);
        std::uint64_t given = 0;
        for (const Run& run : mapping.remove(at, count)) given += run.count;
        REQUIRE(given == had);
      } else {
        // Now and then right behind the block before, so that extents join.
        std::uint64_t block = next_block;
        if (const auto before = model.find(at - 1); at > 0 && before != model.end() && random() % 2 == 0)
          block = before->second.first + 1;
        next_block += count + 1;
        const bool written = random() % 5 != 0;
        mapping.put(at, {block, static_cast<std::uint32_t>(count)}, written);
        for (std::uint64_t b = 0; b < count; ++b) model[at + b] = {block + b, written};
      }
      if (random() % (logical_blocks / 8) != 0) continue;
      const Onode onode = stored.store(mapping);
      deepest = std::max(deepest, onode.level);
      const auto loaded = Mapping::load(stored.device, stored.geometry, stored.owner, onode);
      REQUIRE(loaded);
      REQUIRE(blocks_of(*loaded) == model);
      REQUIRE(loaded->blocks() == model.size());
      // What is durable is whole, whatever came since.
      const auto old = Mapping::load(stored.device, stored.geometry, stored.owner, durable_onode);
      REQUIRE(old);
      REQUIRE(blocks_of(*old) == durable);
      // So is what is live, until another one is.
      const auto seen = Mapping::load(stored.device, stored.geometry, stored.owner, live_onode);
      REQUIRE(seen);
      REQUIRE(blocks_of(*seen) == live);
      if (random() % 3 == 0) continue;
      mapping.now_live();
      live = model;
      live_onode = onode;
      for (const Run& run : stored.unneeded) stored.free_nodes.insert(run.block);
      stored.unneeded.clear();
      if (random() % 2 != 0) continue;
      (void)mapping.freeze();
      durable = model;
      durable_onode = onode;
      for (const Run& run : stored.freed) stored.free_nodes.insert(run.block);
      stored.freed.clear();
    }
    REQUIRE(blocks_of(mapping) == model);
    if (logical_blocks > 40) CHECK(deepest == std::array<std::uint8_t, 4>{0, 1, 2, 2}[seed % 4]);
  }
}

TEST_CASE("nodes of a mapping that are damaged or another's are not believed") {
  Stored stored;
  Mapping mapping;
  for (std::uint64_t i = 0; i < 300; ++i) mapping.put(i * 2, {100 + i * 3, 1}, true);
  const Onode onode = stored.store(mapping);
  REQUIRE(onode.level == 1);
  REQUIRE(Mapping::load(stored.device, stored.geometry, stored.owner, onode));
  REQUIRE(!Mapping::load(stored.device, stored.geometry, {3, 6}, onode));
  for (const std::uint64_t at : {0u, 9u, 20u, 40u, 4095u}) {
    const std::uint64_t offset = onode.entries.front().block * kBlock + at;
    std::string byte(1, '\0');
    REQUIRE(stored.device.read(offset, as_writable_bytes(byte)));
    byte[0] = static_cast<char>(byte[0] ^ 1);
    REQUIRE(stored.device.write(offset, as_bytes(byte)));
    const auto loaded = Mapping::load(stored.device, stored.geometry, stored.owner, onode);
    REQUIRE(!loaded);
    REQUIRE(loaded.error().kind == ErrorKind::corruption);
    byte[0] = static_cast<char>(byte[0] ^ 1);
    REQUIRE(stored.device.write(offset, as_bytes(byte)));
  }
  Onode beyond = onode;
  beyond.entries.front().block = std::uint64_t{1} << 39;
  REQUIRE(!Mapping::load(stored.device, stored.geometry, stored.owner, beyond));
}

}  // namespace cffs::test
