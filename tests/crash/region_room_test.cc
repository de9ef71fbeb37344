// Names, cuts, full devices and cleaned regions of a region store, each as it was thought of.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "tests/crash/small_region_store.h"
#include "tests/test_seeds.h"

namespace cffs::test {

TEST_CASE("what was written behind a cut that did not survive did not either", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  const std::string first(6000, 'a');
  auto object = *store->create("log", Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes(first)));
  REQUIRE(object->sync());
  REQUIRE(object->truncate(1000));
  REQUIRE(object->write_at(1000, as_bytes(std::string(5000, 'b'))));
  std::optional<SectorMedium> medium;
  {
    const MutexLock guard(state->mutex);
    medium = state->medium;
  }
  const auto survivor = opened(std::make_shared<CrashDevice::State>(medium->cut(1)));
  REQUIRE(contents(**survivor->open("log")) == first);
}

TEST_CASE("who makes everything durable has what was written over, too, which changes no onode", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  auto object = *store->create("object", Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes(std::string(6000, 'a'))));
  REQUIRE(object->sync());
  const std::string over(6000, 'b');
  REQUIRE(object->write_at(0, as_bytes(over)));
  REQUIRE(store->sync_everything());
  std::optional<SectorMedium> medium;
  {
    const MutexLock guard(state->mutex);
    medium = state->medium;
  }
  const auto survivor = opened(std::make_shared<CrashDevice::State>(medium->cut(0)));
  REQUIRE(contents(**survivor->open("object")) == over);
}

TEST_CASE("an object that lost its name to another one is not lost with it", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  auto object = *store->create("a", Create::exclusive);
  REQUIRE(object->append(as_bytes("first")));
  REQUIRE(object->sync());
  REQUIRE(store->rename("a", "b"));
  auto other = *store->create("a", Create::exclusive);
  REQUIRE(other->append(as_bytes("second")));
  REQUIRE(other->sync());
  std::optional<SectorMedium> medium;
  {
    const MutexLock guard(state->mutex);
    medium = state->medium;
  }
  const auto survivor = opened(std::make_shared<CrashDevice::State>(medium->cut(0)));
  REQUIRE(contents(**survivor->open("a")) == "second");
  REQUIRE(contents(**survivor->open("b")) == "first");
}

TEST_CASE("a full region store refuses in words, loses nothing, and has its room again", "[region]") {
  auto state = formatted();
  auto store = opened(state);
  const std::uint64_t room = store->space()->free_bytes;
  for (int round = 0; round < 3; ++round) {
    INFO("round " << round);
    // Small and large ones until nothing fits, in turn removed: holes of all kinds.
    std::mt19937_64 random(static_cast<std::uint64_t>(round) + 1);
    std::map<std::string, std::string> kept;
    std::uint64_t refused = 0;
    for (int i = 0; i < 3000 && refused < 200; ++i) {
      const std::string name = "n" + std::to_string(i);
      const std::string bytes(1 + random() % (random() % 8 == 0 ? 300'000 : 9'000),
                              static_cast<char>('a' + i % 26));
      auto object = store->create(name, Create::exclusive);
      Status done = object ? (*object)->write_at(0, as_bytes(bytes)) : Status(fail(object.error()));
      if (done && random() % 3 == 0) done = (*object)->sync();
      if (!done) {
        REQUIRE(done.error().errno_value == ENOSPC);
        REQUIRE(done.error().context.find(name) != std::string::npos);
        ++refused;
        if (object) {
          REQUIRE((*object)->info()->size == 0);
          REQUIRE(store->remove(name));
        }
        if (!kept.empty() && random() % 3 == 0) {
          REQUIRE(store->remove(kept.begin()->first));
          kept.erase(kept.begin());
        }
        continue;
      }
      kept[name] = bytes;
    }
    REQUIRE(refused >= 200);
    // Full to the last blocks, but for what a name needs.
    REQUIRE(store->space()->free_bytes < room / 8);
    for (const auto& [name, bytes] : kept) REQUIRE(contents(**store->open(name)) == bytes);
    store->abandon();
    store = opened(state);
    for (const auto& [name, bytes] : kept) REQUIRE(contents(**store->open(name)) == bytes);
    for (const auto& [name, bytes] : kept) REQUIRE(store->remove(name));
    REQUIRE(store->sync_names());
    REQUIRE(store->space()->free_bytes == room);
  }
}

// Holes of small objects everywhere, and a large one comes: regions are emptied for it, at any moment of which the power may go.
TEST_CASE("a region is cleaned for large objects, and nothing is lost on the way", "[region]") {
  std::uint64_t cuts = 0, cleaned = 0;
  for (const std::uint64_t seed : seeds(6)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    auto state = formatted();
    auto store = opened(state);
    std::map<std::string, std::string> kept;
    for (int i = 0;; ++i) {
      const std::string name = "n" + std::to_string(i);
      const std::string bytes(1 + random() % 30'000, static_cast<char>('a' + i % 26));
      auto object = store->create(name, Create::exclusive);
      if (!object || !(*object)->write_at(0, as_bytes(bytes))) {
        if (object) REQUIRE(store->remove(name));
        break;
      }
      if (random() % 60 == 0) {  // one of many extents, so that it has nodes, too
        for (int j = 0; j < 40; ++j)
          (void)(*object)->write_at(200'000 + static_cast<std::uint64_t>(j) * 8192, as_bytes("x"));
      }
      kept[name] = contents(**store->open(name));
    }
    for (auto it = kept.begin(); it != kept.end();) {
      if (random() % 4 == 0) {
        ++it;
        continue;
      }
      REQUIRE(store->remove(it->first));
      it = kept.erase(it);
    }
    REQUIRE(store->sync_everything());
    const std::uint64_t before = store->layout()->rooms[1].regions;
    std::vector<SectorMedium> media;
    std::uint64_t changes = 0;
    state->told = [&](const std::string&) {
      if (++changes % 11 != 0) return;
      const MutexLock guard(state->mutex);
      media.push_back(state->medium);
    };
    const std::string large(600'000, 'L');
    for (int i = 0; i < 4; ++i) {
      auto object = *store->create("large" + std::to_string(i), Create::exclusive);
      object->expect(large.size());
      REQUIRE(object->write_at(0, as_bytes(large)));
      REQUIRE(object->sync());
    }
    state->told = nullptr;
    cleaned += store->layout()->rooms[1].regions > before ? 1 : 0;
    for (int i = 0; i < 4; ++i) kept["large" + std::to_string(i)] = large;
    for (const auto& [name, bytes] : kept) REQUIRE(contents(**store->open(name)) == bytes);
    for (const SectorMedium& medium : media) {
      ++cuts;
      const auto survivor = opened(std::make_shared<CrashDevice::State>(medium.cut(random())));
      const auto lock = survivor->lock("after");
      REQUIRE(lock);
      REQUIRE(survivor->layout()->damaged.empty());
      for (const auto& [name, bytes] : kept) {
        INFO(name);
        if (name.starts_with("large")) continue;
        REQUIRE(contents(**survivor->open(name)) == bytes);
      }
      check_room(*survivor);
    }
    store->abandon();
    store = opened(state);
    for (const auto& [name, bytes] : kept) REQUIRE(contents(**store->open(name)) == bytes);
    check_room(*store);
  }
  CHECK(cuts > 20);
  CHECK(cleaned > 3);
}

}  // namespace cffs::test
