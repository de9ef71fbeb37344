// A copy that ends at any operation, by a power cut or, in a pool, by the end of its process: it is no store then or a whole one, and the next
// run makes it the store that is copied.
#include "core/backup/store_copy.h"

#include <catch2/catch.hpp>
#include <map>

#include "core/fs/file_system.h"
#include "core/fs/space_guard.h"
#include "core/object/memory_store.h"
#include "tests/crash/crash_store.h"
#include "tests/test_options.h"
#ifdef CFFS_WITH_RADOS
#include "core/rados/rados_store.h"
#include "tests/pool/memory_pool.h"
#endif

namespace cffs::test {
namespace {

using CopiedObjects = std::map<std::string, std::string>;

std::string copied_object(ObjectStore& store, const std::string& name) {
  const auto object = store.open(name);
  REQUIRE(object);
  return *read_whole(**object);
}

// What a copy has of a store, but for what makes it one.
CopiedObjects copied_objects(ObjectStore& store) {
  const auto names = store.list("");
  REQUIRE(names);
  CopiedObjects objects;
  for (const std::string& name : *names) {
    const bool stays = name == "lock" || name == kUnfinishedCopy || name == SpaceGuard::kObjectName ||
                       SpareObjects::is_one(name) || name.starts_with("superblock");
    if (!stays) objects[name] = copied_object(store, name);
  }
  return objects;
}

std::unique_ptr<MemoryStore> store_to_copy() {
  auto source = std::make_unique<MemoryStore>();
  REQUIRE(FileSystem::format(*source, repeatable(), SystemClock()));
  const auto composite = source->create("composites/1", ObjectStore::Create::exclusive);
  REQUIRE((*composite)->write_at(0, as_bytes(std::string(70'000, 'c'))));
  return source;
}

// An earlier copy, with objects that the store has no more.
void make_earlier_copy(ObjectStore& source, ObjectStore& target) {
  REQUIRE(copy_store(source, target, {}));
  const auto lock = target.lock("a test");
  for (const char* former : {"table/000099.log", "blobs/99", "composites/99"}) {
    const auto object = target.create(former, ObjectStore::Create::exclusive);
    REQUIRE((*object)->write_at(0, as_bytes(std::string("former"))));
    REQUIRE((*object)->sync());
  }
  REQUIRE(target.sync_names());
}

void check_what_is_left(ObjectStore& source, ObjectStore& target, const CopiedObjects& before) {
  const CopiedObjects whole = copied_objects(source);
  if (*target.exists("superblock")) {
    const CopiedObjects found = copied_objects(target);
    REQUIRE((found == whole || found == before));
  }
  REQUIRE(copy_store(source, target, {}));
  REQUIRE(copied_objects(target) == whole);
  REQUIRE(copied_object(target, "superblock") == copied_object(source, "superblock"));
  REQUIRE(!*target.exists(kUnfinishedCopy));
}

}  // namespace

TEST_CASE("a copy whose power is cut anywhere is no store or a whole one, and the next one is whole",
          "[copy]") {
  const auto source = store_to_copy();
  CrashStore target;
  make_earlier_copy(*source, target);
  const CopiedObjects before = copied_objects(target);
  std::vector<CrashMedium> media;
  target.on_change([&](const std::string&) { media.push_back(target.medium()); });
  StoreCopyOptions alone;
  alone.workers = 1;
  REQUIRE(copy_store(*source, target, alone));
  target.on_change(nullptr);
  REQUIRE(media.size() > 8);
  for (std::size_t at = 0; at < media.size(); ++at) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      INFO("before operation " << at << " of " << media.size() << ", seed " << seed);
      CrashStore left(media[at].cut(seed));
      check_what_is_left(*source, left, before);
    }
  }
}

#ifdef CFFS_WITH_RADOS
TEST_CASE("a copy into a pool that ends anywhere is no store or a whole one, and the next one is whole",
          "[pool][copy]") {
  const RadosAddress address = *RadosAddress::parse("rados:cffs/copy");
  const auto source = store_to_copy();
  const auto pool = MemoryPool::make();
  pool->use();
  REQUIRE(RadosStore::format(address));
  CopiedObjects before;
  {
    const auto target = *RadosStore::open(address, false);
    make_earlier_copy(*source, *target);
    before = copied_objects(*target);
  }
  std::vector<PoolMedium> media;
  Mutex one_keeps;
  pool->on_change([&](const std::string&) {
    const MutexLock guard(one_keeps);
    media.push_back(pool->medium());
  });
  {
    const auto target = *RadosStore::open(address, false);
    REQUIRE(copy_store(*source, *target, {}));
  }
  pool->on_change(nullptr);
  for (std::size_t at = 0; at < media.size(); ++at) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      INFO("before operation " << at << " of " << media.size() << ", seed " << seed);
      const auto after = MemoryPool::make(media[at].cut(seed));
      after->use();
      const auto left = *RadosStore::open(address, false);
      check_what_is_left(*source, *left, before);
    }
  }
}
#endif

}  // namespace cffs::test
