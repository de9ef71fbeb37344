// An image that says it is larger than the file system below has room for: want of room is met when a region is begun, by whoever
// wants more, and is nothing worse than a full store.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "core/region/region_store.h"
#include "tests/test_seeds.h"
#include "tests/unit/watched_device.h"

namespace cffs::test {
namespace {

using namespace region;
using Create = ObjectStore::Create;

constexpr std::uint64_t kRegionBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kRegions = 40;

// A store of 40 regions on a medium that has room for a few.
std::shared_ptr<WatchedDevice::State> made(std::uint64_t regions) {
  auto state = std::make_shared<WatchedDevice::State>(kRegions * kRegionBytes + kHeadBlocks * kBlock);
  state->begin = kHeadBlocks * kBlock;
  state->piece = kRegionBytes;
  state->limit = regions * kRegionBytes;
  WatchedDevice device(state);
  REQUIRE(RegionStore::format(device, {kRegionBytes, 64 * 1024}));
  return state;
}

std::unique_ptr<RegionStore> opened(const std::shared_ptr<WatchedDevice::State>& state) {
  return *RegionStore::open(std::make_unique<WatchedDevice>(state));
}

std::string contents(const Object& object) {
  std::string bytes(object.info()->size, '\0');
  REQUIRE(object.read_at(0, as_writable_bytes(bytes)));
  return bytes;
}

// Objects of that size until there is no room; how many.
int fill(RegionStore& store, const std::string& prefix, std::size_t size) {
  for (int i = 0;; ++i) {
    const std::string name = prefix + std::to_string(i);
    auto object = store.create(name, Create::exclusive);
    const Status done = object ? (*object)->append(as_bytes(std::string(size, 'x'))).map([](auto) {})
                               : Status(fail(object.error()));
    if (done) continue;
    REQUIRE(done.error().errno_value == ENOSPC);
    if (object) REQUIRE(store.remove(name));
    return i;
  }
}

}  // namespace

TEST_CASE("an image on a file system that is full refuses what has no room, and everything else goes on") {
  const auto state = made(8);
  const std::size_t size = GENERATE(5'000, 200'000, 3'000'000);
  int before = 0;
  for (int round = 0; round < 3; ++round) {
    INFO("round " << round << ", objects of " << size);
    const auto store = opened(state);
    const auto lock = store->lock("a test");
    REQUIRE(lock);
    const SpaceInfo empty = *store->space();
    CHECK(empty.total_bytes <= 8 * kRegionBytes);
    {
      const auto reserve = *store->create("reserve", Create::exclusive);  // as the engine has one
      REQUIRE(reserve->allocate(0, 256 * 1024));
      REQUIRE(reserve->sync());
    }
    const int made = fill(*store, "blobs/", size);
    CHECK(made > 0);
    CHECK(static_cast<std::uint64_t>(made) * ((size + kBlock - 1) / kBlock * kBlock) > empty.free_bytes / 3);
    if (round > 0) CHECK(made >= before - before / 4);
    before = made;
    CHECK(state->refused > 0);
    CHECK(store->space()->free_bytes < kRegionBytes + 3'000'000);
    REQUIRE(store->sync_everything());
    REQUIRE(store->remove("reserve"));  // what the engine needs to remove anything
    const auto log = store->create("000001.log", Create::exclusive);
    REQUIRE(log);
    REQUIRE((*log)->append(as_bytes(std::string(kBlock, 'l'))));
    REQUIRE((*log)->sync());
    const auto names = *store->list("blobs");
    for (const std::string& name : names) REQUIRE(store->remove(name));
    REQUIRE(store->sync_names());
    REQUIRE(store->remove("000001.log"));
  }
  CHECK(state->unprovided_writes == 0);
  // The file system's again, but for the region that stays for onodes, and one that an earlier mount kept for that.
  CHECK(state->provided.size() <= 2);
  const auto store = opened(state);
  CHECK(store->list("")->empty());
  CHECK(!store->was_scanned());
}

TEST_CASE("a region for onodes stays, whoever takes the room of all others") {
  const auto state = made(8);
  for (int round = 0; round < 4; ++round) {
    INFO("round " << round);
    auto store = opened(state);
    const int made = fill(*store, "blobs/", 200'000);
    CHECK(made >= 10);
    const auto names = *store->list("");
    for (const std::string& name : names) REQUIRE(store->remove(name));
    REQUIRE(store->sync_names());
    for (int i = 0; i < 100; ++i) REQUIRE(store->create("table/" + std::to_string(i), Create::exclusive));
    if (round % 2 == 0) {
      store.reset();
      state->limit = state->provided.size() * kRegionBytes;  // others have taken the rest
      store = opened(state);
    } else {
      state->limit = state->provided.size() * kRegionBytes;
    }
    for (int i = 0; i < 50; ++i) {
      INFO("object " << i);
      REQUIRE(store->create("blobs/" + std::to_string(i), Create::exclusive));
    }
    const auto all = *store->list("");
    for (const std::string& name : all) REQUIRE(store->remove(name));
    REQUIRE(store->sync_names());
    store.reset();
    state->limit = 8 * kRegionBytes;
  }
  CHECK(state->unprovided_writes == 0);
}

TEST_CASE("room that comes back below is found, without a new mount") {
  const auto state = made(6);
  const auto store = opened(state);
  const int few = fill(*store, "blobs/a", 20'000);
  state->limit = 20 * kRegionBytes;
  const int more = fill(*store, "blobs/b", 20'000);
  CHECK(more > 2 * few);
  CHECK(state->unprovided_writes == 0);
}

TEST_CASE("room that the file system below tells of and refuses does not count") {
  const auto state = made(6);
  state->untrue = 20 * kRegionBytes;
  const auto store = opened(state);
  const int few = fill(*store, "blobs/a", 20'000);
  CHECK(state->refused > 0);
  CHECK(store->space()->free_bytes < kRegionBytes);
  CHECK(store->space()->total_bytes <= 6 * kRegionBytes);
  state->limit = 20 * kRegionBytes;  // the quota is raised
  CHECK(store->space()->free_bytes > 10 * kRegionBytes);
  const int more = fill(*store, "blobs/b", 20'000);
  CHECK(more > 2 * few);
  CHECK(state->unprovided_writes == 0);
}

TEST_CASE("room of regions that an earlier user emptied counts no more than others' where it is refused") {
  const auto state = made(kRegions);
  {
    const auto store = opened(state);
    const int many = fill(*store, "blobs/", 20'000);
    for (int i = 0; i < many; ++i) REQUIRE(store->remove("blobs/" + std::to_string(i)));
  }
  REQUIRE(state->provided.size() < 6);  // the file system below had it back
  state->limit = 6 * kRegionBytes;      // of that the store's owner has a quota now
  state->untrue = kRegions * kRegionBytes;
  const auto store = opened(state);
  const int few = fill(*store, "blobs/a", 20'000);
  CHECK(state->refused > 0);
  CHECK(store->space()->free_bytes < kRegionBytes);
  state->limit = 20 * kRegionBytes;
  CHECK(store->space()->free_bytes > 10 * kRegionBytes);
  CHECK(fill(*store, "blobs/b", 20'000) > 2 * few);
  CHECK(state->unprovided_writes == 0);
}

TEST_CASE("each region is asked for once, and one that is emptied and filled again need not be") {
  const auto state = made(kRegions);
  {
    const auto store = opened(state);
    const auto object = *store->create("blobs/a", Create::exclusive);
    for (int i = 0; i < 1000; ++i) REQUIRE(object->append(as_bytes(std::string(8192, 'x'))));
    CHECK(state->asked == state->provided.size());
    CHECK(state->asked <=
          13);  // 8 MB in regions of less than one, ahead of who writes; onodes, and one for more of them
    const std::uint64_t asked = state->asked;
    for (int i = 0; i < 50; ++i) {
      const auto other = *store->create("blobs/b", Create::exclusive);
      REQUIRE(other->append(as_bytes(std::string(200'000, 'x'))));
      REQUIRE(other->sync());
      REQUIRE(store->remove("blobs/b"));
      REQUIRE(store->sync_names());
    }
    CHECK(state->asked <= asked + 2);
  }
  CHECK(state->given_back <= 2);
}

TEST_CASE("an image whose holes came with a copy: what it has stays, and is removed") {
  const auto state = made(12);
  {
    const auto store = opened(state);
    (void)fill(*store, "blobs/", 9'000);
    for (int i = 0; i < 300; i += 2) REQUIRE(store->remove("blobs/" + std::to_string(i)));
  }
  state->provided.clear();  // a file system that is full, and where the copy has what was written
  state->limit = 0;
  const auto store = opened(state);
  const auto names = *store->list("");
  CHECK(names.size() > 100);
  CHECK(fill(*store, "blobs/new", 9'000) == 0);
  for (const std::string& name : names) CHECK(contents(**store->open(name)) == std::string(9'000, 'x'));
}

TEST_CASE("whatever is done on a medium with little room, nothing is written where there is none") {
  for (const std::uint64_t seed : seeds(30)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const auto state = made(5 + random() % 6);
    std::map<std::string, std::string> kept;
    auto store = opened(state);
    std::uint64_t others = 0;  // bytes of those who write beside it
    for (int i = 0; i < 1500; ++i) {
      if (random() % 200 == 0) {
        store.reset();
        store = opened(state);
      }
      if (random() % 150 == 0) {
        const std::uint64_t before = std::exchange(others, random() % 3 * kRegionBytes);
        *state->limit += before;
        others = std::min(others, *state->limit);
        *state->limit -= others;
      }
      const std::string name = "blobs/" + std::to_string(random() % 60);
      const std::uint64_t what = random() % 8;
      if (what < 5) {
        const std::string bytes(1 + random() % (random() % 6 == 0 ? 400'000 : 20'000),
                                static_cast<char>('a' + i % 26));
        auto object = store->create(name, Create::truncate);
        if (!object) {
          REQUIRE(object.error().errno_value == ENOSPC);
          if (!*store->exists(name)) kept.erase(name);
          continue;
        }
        kept[name] = "";
        const Status done = (*object)->write_at(0, as_bytes(bytes));
        if (done)
          kept[name] = bytes;
        else
          REQUIRE(done.error().errno_value == ENOSPC);
        if (random() % 3 == 0) REQUIRE((*object)->sync());
      } else if (what < 7 && !kept.empty()) {
        const std::string gone = kept.begin()->first;
        REQUIRE(store->remove(gone));
        kept.erase(gone);
      } else {
        REQUIRE(store->sync_names());
      }
    }
    REQUIRE(state->unprovided_writes == 0);
    store.reset();
    store = opened(state);
    REQUIRE(store->layout()->damaged.empty());
    REQUIRE(store->list("")->size() == kept.size());
    for (const auto& [n, bytes] : kept) REQUIRE((contents(**store->open(n)) == bytes));
  }
}

}  // namespace cffs::test
