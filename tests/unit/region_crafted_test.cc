// Images that somebody has prepared: every sum is right, and what it is the sum of makes no sense. They open, or are refused in one
// sentence; nothing lies where it could not, and what is whole is shown.
#include <catch2/catch.hpp>
#include <random>

#include "core/base/checksum.h"
#include "core/region/memory_device.h"
#include "core/region/recovery.h"
#include "core/region/region_store.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

using namespace region;
using Create = ObjectStore::Create;
constexpr std::uint64_t kBytes = std::uint64_t{9} << 20;

// A store with a few objects, closed or (as after a power cut) not.
struct Prepared {
  std::shared_ptr<MemoryDevice::Medium> medium = std::make_shared<MemoryDevice::Medium>(kBytes);
  MemoryDevice device{medium};
  Superblock superblock;

  explicit Prepared(bool closed) {
    REQUIRE(RegionStore::format(device, {std::uint64_t{1} << 20, 64 * 1024}));
    auto store = open();
    for (const char* name : {"a", "f/b", "f/c"}) {
      const auto object = *store->create(name, Create::exclusive);
      for (std::uint64_t i = 0; i < 40; ++i) REQUIRE(object->write_at(i * 9000, as_bytes(name)));
      REQUIRE(object->sync());
    }
    if (!closed) store->abandon();
    store.reset();
    superblock = *read_superblock(device);
    REQUIRE(superblock.clean == closed);
  }
  std::unique_ptr<RegionStore> open() { return *RegionStore::open(std::make_unique<MemoryDevice>(medium)); }
  void write(std::uint64_t offset, const std::string& bytes) {
    REQUIRE(device.write(offset, as_bytes(bytes)));
  }
  void put(const Onode& onode, OnodeId id, unsigned sector = 0) {
    write(onode_offset(superblock.geometry, id, sector), encode(onode, superblock.geometry, id));
  }
  void put(Superblock changed) {
    changed.version += 1;
    write(changed.version % 2 * kBlock, encode(changed));
  }
  // Looks at everything, changes something, closes.
  void use() {
    const auto store = open();
    const auto lock = store->lock("crafted");
    if (!lock) return;
    const auto names = store->list("");
    if (!names) return;
    for (const std::string& name : *names) {
      REQUIRE(name.find("..") == std::string::npos);
      const auto object = store->open(name);
      std::string bytes(5000, 'x');
      if (object) (void)(*object)->read_at(8000, as_writable_bytes(bytes));
      if (object) (void)(*object)->append(as_bytes("more"));
      if (object) (void)(*object)->sync();
    }
    (void)store->create("new", Create::keep);
    (void)store->space();
    (void)store->layout();
    for (const std::string& name : *names) (void)store->remove(name);
    (void)store->sync_names();
  }
};

}  // namespace

TEST_CASE("onodes that make no sense are not shown, and the others are") {
  Prepared prepared(false);
  Onode onode;
  onode.version = 1'000'000;
  onode.size = 10'000;
  for (const char* name : {"../passwd", "/etc/passwd", "a//b", "f/./c", "f/..", ""}) {
    onode.name = name;
    prepared.put(onode, {0, 20});
    const auto store = prepared.open();
    REQUIRE(store->list("")->size() == 3);
    REQUIRE(store->layout()->damaged.size() == 1);
  }
  onode.name = "evil";
  for (const Extent& extent :
       {Extent{0, 0, 1, true},                             // the superblock
        Extent{0, kHeadBlocks, 1, true},                   // a region's head
        Extent{0, kHeadBlocks + 3, 2, true},               // its onodes
        Extent{0, kHeadBlocks + 200, 1000, true},          // over the region's end
        Extent{0, (std::uint64_t{1} << 40) - 1, 1, true},  // behind the device
        Extent{std::uint64_t{1} << 62, kHeadBlocks + 200, 1, true}, Extent{0, kHeadBlocks + 200, 0, true}}) {
    onode.entries = {extent};
    prepared.put(onode, {0, 20});
    const auto store = prepared.open();
    REQUIRE(store->layout()->damaged.size() == 1);
    REQUIRE(!*store->exists("evil"));
  }
  // Of two with one block the newer one is right.
  const auto taken = prepared.open();
  onode.entries = {{5, kHeadBlocks + 250, 1, true}, {3, kHeadBlocks + 251, 1, true}};  // not in order
  prepared.put(onode, {0, 20});
  REQUIRE(!*prepared.open()->exists("evil"));
  onode.level = 7;  // nodes that are none
  onode.entries = {{0, kHeadBlocks + 250, 1, true}};
  prepared.put(onode, {0, 20});
  REQUIRE(!*prepared.open()->exists("evil"));
  prepared.use();
}

TEST_CASE("of two objects with one name the older one stays where the newer one cannot be shown") {
  Prepared prepared(false);
  Onode onode;
  onode.version = 1'000'000;
  onode.name = "a";
  onode.size = 10'000;
  onode.level = 1;
  onode.entries = {{0, kHeadBlocks + 250, 1, true}};  // a node that is none
  prepared.put(onode, {0, 20});
  {
    const auto store = prepared.open();
    const auto lock = store->lock("crafted");  // and whatever was under way is done
    REQUIRE(lock);
    REQUIRE(store->layout()->damaged.size() == 1);
    store->abandon();
  }
  const auto store = prepared.open();
  REQUIRE(*store->exists("a"));
  std::string bytes(1, 'x');
  REQUIRE((*store->open("a"))->read_at(9000, as_writable_bytes(bytes)));
  REQUIRE(bytes == "a");
}

TEST_CASE("superblocks and checkpoints that make no sense") {
  const Prepared good(true);
  const auto tried = [](const std::function<void(Superblock&)>& change) {
    Prepared prepared(true);
    Superblock changed = prepared.superblock;
    change(changed);
    prepared.put(changed);
    if (RegionStore::open(std::make_unique<MemoryDevice>(prepared.medium))) prepared.use();
  };
  tried([](Superblock& s) { s.geometry.regions = ~std::uint64_t{0}; });
  tried([](Superblock& s) { s.geometry.region_blocks = 1; });
  tried([](Superblock& s) { s.geometry.region_blocks = std::uint64_t{1} << 60; });
  tried([](Superblock& s) { s.geometry.large_blocks = 0; });
  tried([](Superblock& s) { s.geometry.large_blocks = ~0u; });
  tried([](Superblock& s) { s.geometry.onodes = 0; });
  tried([](Superblock& s) { s.geometry.onodes = 250; });
  tried([](Superblock& s) { s.checkpoint = {{~std::uint64_t{0} - 1, ~0u}}; });
  tried([](Superblock& s) { s.checkpoint = {{20, ~0u}}; });
  tried([](Superblock& s) { s.checkpoint_bytes = ~std::uint64_t{0}; });
  tried([](Superblock& s) { s.checkpoint_sum ^= 1; });
  tried([](Superblock& s) { s.checkpoint.clear(); });
  tried([](Superblock& s) { s.version = ~std::uint64_t{0} - 1; });
}

// A checkpoint and onodes with bytes changed at random under a sum that is right.
TEST_CASE("anything at all under a sum that is right") {
  for (const std::uint64_t seed : seeds(400)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    Prepared prepared(seed % 2 == 0);
    const Geometry& g = prepared.superblock.geometry;
    if (prepared.superblock.clean) {
      std::string bytes;
      for (const Run& run : prepared.superblock.checkpoint) {
        std::string part(run.count * kBlock, '\0');
        REQUIRE(prepared.device.read(run.block * kBlock, as_writable_bytes(part)));
        bytes += part;
      }
      bytes.resize(prepared.superblock.checkpoint_bytes);
      for (int i = 0; i < 1 + static_cast<int>(random() % 4); ++i)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      prepared.write(prepared.superblock.checkpoint.front().block * kBlock, bytes);
      Superblock changed = prepared.superblock;
      changed.checkpoint_sum = checksum(bytes);
      prepared.put(changed);
    } else {
      for (std::uint32_t index = 0; index < 3; ++index) {
        const OnodeId id{0, index};
        std::string sector(kSectorBytes, '\0');
        for (const unsigned which : {0u, 1u, 2u}) {
          REQUIRE(prepared.device.read(onode_offset(g, id, which), as_writable_bytes(sector)));
          auto onode = decode_onode(sector, g, id);
          if (!onode) continue;
          switch (random() % 6) {
            case 0:
              onode->size = random();
              break;
            case 1:
              onode->level = static_cast<std::uint8_t>(random() % 4);
              break;
            case 2:
              onode->version += random() % 100;
              break;
            case 3:
              onode->entries.resize(random() % 20, Extent{random() % 4000, random() % 3000,
                                                          static_cast<std::uint32_t>(random() % 50), true});
              break;
            case 4:
              if (!onode->entries.empty())
                onode->entries[random() % onode->entries.size()].block = random() % 3000;
              break;
            default:
              onode->is_free = !onode->is_free;
          }
          prepared.put(*onode, id, which);
        }
      }
    }
    prepared.use();
    prepared.use();
  }
}

}  // namespace cffs::test
