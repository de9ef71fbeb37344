// Many threads on one region store, of which there is hardly enough: writes, syncs, removals, renames, holes, and regions that are
// emptied beside them. Each object is one thread's, so that what it must hold is known; the room is everybody's.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <thread>

#include "core/region/memory_device.h"
#include "core/region/region_store.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

using Create = ObjectStore::Create;

struct Owner {
  std::map<std::string, std::string> objects;  // what they hold
  std::string problem;

  bool check(const Status& done, const std::string& what) {
    if (done || done.error().errno_value == ENOSPC) return done.has_value();
    problem = what + ": " + done.error().message();
    return false;
  }

  void work(ObjectStore& store, int thread, std::uint64_t seed) {
    std::mt19937_64 random(seed * 31 + static_cast<std::uint64_t>(thread));
    for (int i = 0; i < 1500 && problem.empty(); ++i) {
      const std::string name = "t" + std::to_string(thread) + "/" + std::to_string(random() % 12);
      const auto it = objects.find(name);
      if (it == objects.end()) {
        auto object = store.create(name, Create::exclusive);
        if (check(object ? Status() : Status(fail(object.error())), "create")) objects[name];
        continue;
      }
      std::string& holds = it->second;
      if (random() % 10 == 0) {
        if (check(store.remove(name), "remove")) objects.erase(it);
        continue;
      }
      if (random() % 12 == 0) {
        const std::string to = "t" + std::to_string(thread) + "/" + std::to_string(random() % 12);
        if (to != name && check(store.rename(name, to), "rename")) {
          std::string moved = std::move(holds);
          objects.erase(it);
          objects[to] = std::move(moved);
        }
        continue;
      }
      const auto object = store.open(name);
      if (!object) {
        problem = "open: " + object.error().message();
        return;
      }
      change(**object, holds, random);
    }
  }

  void change(Object& object, std::string& holds, std::mt19937_64& random) {
    std::string bytes(1 + random() % (random() % 6 == 0 ? 150'000 : 6'000), '\0');
    for (char& c : bytes) c = static_cast<char>('a' + random() % 26);
    switch (random() % 6) {
      case 0:
      case 1:
        if (check(object.write_at(holds.size(), as_bytes(bytes)), "append")) holds += bytes;
        break;
      case 2: {
        const std::size_t at = random() % (holds.size() + 1);
        if (!check(object.write_at(at, as_bytes(bytes)), "write")) break;
        if (holds.size() < at + bytes.size()) holds.resize(at + bytes.size());
        holds.replace(at, bytes.size(), bytes);
        break;
      }
      case 3: {
        const std::size_t size = random() % (holds.size() + 1);
        if (check(object.truncate(size), "truncate")) holds.resize(size);
        break;
      }
      case 4:
        (void)check(object.sync(), "sync");
        break;
      default: {
        std::string found(holds.size(), 'x');
        const auto n = object.read_at(0, as_writable_bytes(found));
        if (!n || found != holds) problem = "it does not hold what was written";
      }
    }
    if (holds.size() > 500'000 && check(object.truncate(0), "truncate")) holds.clear();
  }
};

}  // namespace

TEST_CASE("many threads on a region store that is nearly full") {
  for (const std::uint64_t seed : seeds(4)) {
    INFO("seed " << seed);
    const auto medium = std::make_shared<MemoryDevice::Medium>(std::uint64_t{12} << 20);
    REQUIRE(
        RegionStore::format(*std::make_unique<MemoryDevice>(medium), {std::uint64_t{1} << 20, 64 * 1024}));
    std::array<Owner, 4> owners;
    {
      const auto store = *RegionStore::open(std::make_unique<MemoryDevice>(medium));
      const auto lock = store->lock("threads");
      REQUIRE(lock);
      std::atomic<int> left{4};
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          owners[static_cast<std::size_t>(t)].work(*store, t, seed);
          --left;
        });
      }
      while (left > 0) {  // beside them, what everybody may call
        (void)store->sync_names();
        (void)store->space();
        (void)store->layout();
        std::this_thread::yield();
      }
      for (std::thread& thread : threads) thread.join();
      for (const Owner& owner : owners) REQUIRE(owner.problem == "");
    }
    // After a clean end, by the checkpoint.
    const auto store = *RegionStore::open(std::make_unique<MemoryDevice>(medium));
    const auto lock = store->lock("after");
    REQUIRE(lock);
    REQUIRE(!store->was_scanned());
    for (const Owner& owner : owners) {
      for (const auto& [name, holds] : owner.objects) {
        INFO(name);
        std::string found(holds.size() + 1, 'x');
        const auto object = store->open(name);
        REQUIRE(object);
        REQUIRE(*(*object)->read_at(0, as_writable_bytes(found)) == holds.size());
        found.resize(holds.size());
        REQUIRE((found == holds));
        REQUIRE(store->remove(name));
      }
    }
    REQUIRE(store->sync_names());
    REQUIRE(store->space()->free_bytes == store->space()->total_bytes);
  }
}

}  // namespace cffs::test
