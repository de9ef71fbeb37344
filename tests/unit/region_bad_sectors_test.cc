// Blocks of a region store's device that the medium does not give, for now or for good: what lies elsewhere is shown, what is missing is
// told, and nothing is written where what cannot be read may lie.
#include <catch2/catch.hpp>
#include <map>

#include "core/region/recovery.h"
#include "core/region/region_store.h"
#include "tests/unit/watched_device.h"

namespace cffs::test {
namespace {

using namespace region;

// A store of some objects in several regions, closed or (as after kill -9) not.
struct OnBadMedium {
  std::shared_ptr<WatchedDevice::State> state =
      std::make_shared<WatchedDevice::State>(std::uint64_t{9} << 20);
  Geometry geometry;
  std::map<OnodeId, std::string> onodes;  // and the objects' names

  explicit OnBadMedium(bool closed) {
    WatchedDevice device(state);
    REQUIRE(RegionStore::format(device, {std::uint64_t{1} << 20, 64 * 1024}));
    {
      const auto store = opened();
      const auto lock = store->lock("a test");
      REQUIRE(lock);
      for (int i = 0; i < 60; ++i) {
        const auto object = *store->create(name_of_one(i), ObjectStore::Create::exclusive);
        REQUIRE(object->append(as_bytes(content(name_of_one(i)))));
        REQUIRE(object->sync());
      }
      if (!closed) store->abandon();
    }
    const auto superblock = read_superblock(device);
    REQUIRE(superblock->clean == closed);
    geometry = superblock->geometry;
    const auto recovered = recover(device, *superblock);
    REQUIRE(recovered);
    for (const Body::Found& found : recovered->objects) onodes[found.id] = found.onode.name;
    REQUIRE(onodes.size() == 60);
    REQUIRE(onodes.rbegin()->first.region > 0);
  }
  static std::string name_of_one(int i) { return "blobs/" + std::to_string(i); }
  static std::string content(const std::string& name) {
    std::string bytes;
    while (bytes.size() < 40'000) bytes += name;
    return bytes;
  }
  std::unique_ptr<RegionStore> opened() const {
    auto store = RegionStore::open(std::make_unique<WatchedDevice>(state));
    REQUIRE(store);
    return std::move(*store);
  }
  std::string medium() const {
    const MutexLock guard(state->medium->mutex);
    return state->medium->bytes;
  }
  // All objects are there, but for those with an onode that is `lost`.
  template <typename Lost>
  void check_objects(RegionStore& store, const Lost& lost) const {
    for (const auto& [id, name] : onodes) {
      INFO(name << ", onode " << id.index << " of region " << id.region);
      CHECK(*store.exists(name) == !lost(id));
      if (lost(id)) continue;
      std::string bytes(content(name).size() + 1, '?');
      REQUIRE(*(*store.open(name))->read_at(0, as_writable_bytes(bytes)) == bytes.size() - 1);
      bytes.pop_back();
      CHECK((bytes == content(name)));
    }
  }
};

const auto kNothingIsLost = [](OnodeId) { return false; };

}  // namespace

TEST_CASE("a superblock that the medium does not give counts as one that is lost", "[bad_sectors]") {
  for (const bool closed : {true, false}) {
    for (const std::uint64_t copy : {0u, 1u}) {
      INFO("copy " << copy << (closed ? ", closed" : ""));
      const OnBadMedium bad(closed);
      bad.state->unreadable = {copy};
      REQUIRE(*RegionStore::is_store(WatchedDevice(bad.state)));
      {
        const auto store = bad.opened();
        const auto looks = store->lock_for_reading();
        REQUIRE(looks);
        bad.check_objects(*store, kNothingIsLost);
      }
      REQUIRE(bad.state->unreadable.size() == 1);
      {
        const auto store = bad.opened();
        const auto writes = store->lock("a test");
        REQUIRE(writes);
        REQUIRE(store->create("new", ObjectStore::Create::exclusive));
      }
      REQUIRE(bad.state->unreadable.empty());  // both are written
      const auto again = bad.opened();
      bad.check_objects(*again, kNothingIsLost);
      CHECK_FALSE(again->was_scanned());
    }
  }
  const OnBadMedium bad(true);
  bad.state->unreadable = {0, 1};
  const auto opened = RegionStore::open(std::make_unique<WatchedDevice>(bad.state));
  REQUIRE_FALSE(opened);
  CHECK((opened.error().kind == ErrorKind::os && opened.error().errno_value == EIO));
  CHECK_FALSE(RegionStore::is_store(WatchedDevice(bad.state)));
}

TEST_CASE("a block of the owner and the epoch that the medium does not give keeps nobody out",
          "[bad_sectors]") {
  for (const bool closed : {true, false}) {
    const OnBadMedium bad(closed);
    const auto block = std::set<std::uint64_t>{kOwnerOffset / kBlock};
    bad.state->unreadable = block;
    {
      const auto store = bad.opened();
      const auto looks = store->lock_for_reading();
      REQUIRE(looks);
      bad.check_objects(*store, kNothingIsLost);
    }
    const auto store = bad.opened();
    const auto writes = store->lock("a test");
    REQUIRE(writes);
    CHECK(bad.state->unreadable.empty());
    bad.check_objects(*store, kNothingIsLost);
    CHECK(bad.opened()->lock("another").error().message().find("a test") != std::string::npos);
    bad.state->unreadable = block;  // who has it nobody can read
    const auto refused = bad.opened()->lock("another");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().errno_value == EBUSY);
    REQUIRE(store->create("new", ObjectStore::Create::exclusive));
  }
}

// Such a note may say that a flush failed: what was never flushed is not taken for what is there.
TEST_CASE("live sectors are not believed where the note of the epoch cannot be read", "[bad_sectors]") {
  for (const bool readable : {true, false}) {
    const OnBadMedium bad(false);
    {
      const auto store = bad.opened();
      const auto lock = store->lock("a test");
      const auto object = *store->create("later", ObjectStore::Create::exclusive);
      store->abandon();
    }
    if (!readable) bad.state->unreadable = {kOwnerOffset / kBlock};
    const auto store = bad.opened();
    REQUIRE(store->lock("a test"));
    CHECK(*store->exists("later") == readable);
  }
}

TEST_CASE("an onode that the medium does not give hides its object, and nothing is written until it does",
          "[bad_sectors]") {
  const OnBadMedium bad(false);
  const OnodeId gone = std::next(bad.onodes.begin(), 20)->first;
  const auto block = std::set<std::uint64_t>{onode_offset(bad.geometry, gone, 0) / kBlock};
  bad.state->unreadable = block;
  const std::string before = bad.medium();
  {
    const auto store = bad.opened();
    const auto looks = store->lock_for_reading();
    REQUIRE(looks);
    bad.check_objects(*store, [&](OnodeId id) { return id == gone; });
    REQUIRE(store->layout()->damaged.size() == 1);
    CHECK(store->layout()->damaged.front().find("onode " + std::to_string(gone.index)) != std::string::npos);
  }
  {
    const auto store = bad.opened();
    const auto refused = store->lock("a test");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::corruption);
    CHECK(refused.error().message().find("-o ro") != std::string::npos);
    CHECK_FALSE(store->create("new", ObjectStore::Create::exclusive));
  }
  const std::uint64_t owner = kOwnerOffset + kSectorBytes;
  CHECK((bad.medium().substr(owner) == before.substr(owner)));
  CHECK((bad.medium().substr(0, kOwnerOffset) == before.substr(0, kOwnerOffset)));
  CHECK(bad.state->unreadable == block);
  bad.state->unreadable.clear();  // it was a cable
  const auto store = bad.opened();
  REQUIRE(store->lock("a test"));
  bad.check_objects(*store, kNothingIsLost);
  CHECK(store->layout()->damaged.empty());
}

TEST_CASE("a region's head that the medium does not give hides what has its onode there", "[bad_sectors]") {
  const OnBadMedium bad(false);
  for (const std::uint32_t region : {bad.onodes.begin()->first.region, bad.onodes.rbegin()->first.region}) {
    INFO("region " << region);
    bad.state->unreadable = {bad.geometry.first_block(region)};
    const auto store = bad.opened();
    {
      const auto looks = store->lock_for_reading();
      REQUIRE(looks);
      bad.check_objects(*store, [&](OnodeId id) { return id.region == region; });
      REQUIRE(store->layout()->damaged.size() == 1);
      CHECK(store->layout()->damaged.front().find("region " + std::to_string(region)) != std::string::npos);
    }
    CHECK_FALSE(store->lock("a test"));
  }
  // Nobody asks for it where the store was closed.
  const OnBadMedium closed(true);
  closed.state->unreadable = {closed.geometry.first_block(0)};
  const auto store = closed.opened();
  REQUIRE(store->lock("a test"));
  closed.check_objects(*store, kNothingIsLost);
}

// One of many extents: they are in a block of their own.
TEST_CASE("a node that the medium does not give hides its object, and nothing is written until it does",
          "[bad_sectors]") {
  constexpr int kExtents = 60;
  for (const bool closed : {false, true}) {
    INFO((closed ? "closed" : "killed"));
    const OnBadMedium bad(closed);
    {
      const auto store = bad.opened();
      const auto lock = store->lock("a test");
      REQUIRE(lock);
      const auto object = *store->create("blobs/many", ObjectStore::Create::exclusive);
      for (std::uint64_t i = 0; i < kExtents; ++i)
        REQUIRE(object->write_at(i * 2 * kBlock, as_bytes(std::string(kBlock, 'm'))));
      REQUIRE(object->sync());
      if (!closed) store->abandon();
    }
    WatchedDevice device(bad.state);
    const auto recovered = recover(device, *read_superblock(device));
    REQUIRE(recovered);
    std::set<std::uint64_t> nodes;
    for (const Mapping& mapping : recovered->mappings) {
      for (const Run& run : mapping.node_runs()) nodes.insert(run.block);
    }
    REQUIRE(nodes.size() == 1);
    bad.state->unreadable = nodes;
    {
      const auto store = bad.opened();
      const auto looks = store->lock_for_reading();
      REQUIRE(looks);
      bad.check_objects(*store, kNothingIsLost);
      REQUIRE(store->layout()->damaged.size() == 1);
      CHECK(store->layout()->damaged.front().starts_with("blobs/many: "));
    }
    CHECK_FALSE(bad.opened()->lock("a test"));
    bad.state->unreadable.clear();
    const auto store = bad.opened();
    REQUIRE(store->lock("a test"));
    std::string bytes(kBlock, '?');
    REQUIRE((*store->open("blobs/many"))->read_at((kExtents - 1) * 2 * kBlock, as_writable_bytes(bytes)));
    CHECK((bytes == std::string(kBlock, 'm')));
  }
}

}  // namespace cffs::test
