// One contract for all backends (core/object/object_store.h).
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/object/object_cache.h"
#include "core/object/overlay_store.h"
#include "core/object/posix_store.h"
#include "core/region/file_device.h"
#include "core/region/memory_device.h"
#include "core/region/region_store.h"
#ifdef CFFS_WITH_RADOS
#include "core/rados/rados_store.h"
#include "tests/pool/memory_pool.h"
#endif

namespace cffs::test {
namespace {

// Owns a store and whatever it needs.
struct Backend {
  std::string directory;
  std::unique_ptr<ObjectStore> below;
  std::unique_ptr<ObjectStore> store;
  std::function<std::unique_ptr<ObjectStore>()> again;  // the same, opened anew, where that is something else
  explicit Backend(const std::string& name) {
    if (name == "memory") store = std::make_unique<MemoryStore>();
    if (name == "faulty") store = std::make_unique<FaultyStore>();
    if (name == "posix") {
      directory = "/tmp/cffs-contract.XXXXXX";
      REQUIRE(::mkdtemp(directory.data()) != nullptr);
      store = std::move(*PosixStore::open_directory(directory));
    }
    if (name == "region") {
      auto device = std::make_unique<MemoryDevice>(std::uint64_t{8} << 20);
      REQUIRE(RegionStore::format(*device, {std::uint64_t{1} << 20, 64 * 1024}));
      store = *RegionStore::open(std::move(device));
    }
    if (name == "image") {
      directory = "/tmp/cffs-contract.XXXXXX";
      REQUIRE(::mkdtemp(directory.data()) != nullptr);
      std::ofstream(directory + "/image") << "";
      std::filesystem::resize_file(directory + "/image", std::uint64_t{128} << 20);
      auto device = *FileDevice::open(directory + "/image", FileDevice::Access::read_write);
      REQUIRE(RegionStore::format(*device, {}));
      store = *RegionStore::open(std::move(device));
    }
#ifdef CFFS_WITH_RADOS
    if (name == "rados" || name == "pool") {
      static int number = 0;
      if (name == "pool") MemoryPool::make()->use();
      const auto address = *RadosAddress::parse("rados:cffs/contract-" + std::to_string(::getpid()) + "-" +
                                                std::to_string(++number));
      REQUIRE(RadosStore::format(address));
      again = [address]() -> std::unique_ptr<ObjectStore> { return *RadosStore::open(address, false); };
      store = again();
    }
#endif
    if (name == "overlay") {
      below = std::make_unique<MemoryStore>();
      store = std::make_unique<OverlayStore>(*below);
    }
  }
  ~Backend() {
    store.reset();
    below.reset();
    if (!directory.empty()) std::filesystem::remove_all(directory);
  }
};

std::string read_all(const Object& object) {
  std::string bytes(object.info()->size + 100, 'x');
  const auto n = object.read_at(0, as_writable_bytes(bytes));
  REQUIRE(n);
  bytes.resize(*n);
  return bytes;
}

}  // namespace

TEST_CASE("object store contract") {
  const std::string name =
      GENERATE(as<std::string>{}, "posix", "memory", "faulty", "overlay", "region", "image", "pool", "rados");
#ifndef CFFS_WITH_RADOS
  if (name == "rados" || name == "pool") return;
#endif
  // tests/mount/rados.sh makes a cluster; where there is one, memory is not taken for it.
  const bool has_cluster = std::getenv("CFFS_TEST_RADOS") != nullptr;
  if (name == (has_cluster ? "pool" : "rados")) return;
  INFO("backend " << name);
  Backend backend(name);
  ObjectStore& store = *backend.store;
  using Create = ObjectStore::Create;

  SECTION("create, write, read") {
    auto object = *store.create("a/b/c", Create::exclusive);
    REQUIRE(object->write_at(3, as_bytes("defg")));
    REQUIRE(read_all(*object) == std::string("\0\0\0defg", 7));
    REQUIRE(object->write_at(0, as_bytes("abc")));
    REQUIRE(*object->append(as_bytes("hi")) == 7);
    REQUIRE(read_all(**store.open("a/b/c")) == "abcdefghi");
    REQUIRE(object->info()->size == 9);
    std::string part(4, 'x');
    REQUIRE(*object->read_at(7, as_writable_bytes(part)) == 2);
    REQUIRE(*object->read_at(100, as_writable_bytes(part)) == 0);
    REQUIRE(object->truncate(4));
    REQUIRE(object->truncate(6));
    REQUIRE(read_all(*object) == std::string("abcd\0\0", 6));
    REQUIRE(object->punch_hole(1, 2));
    REQUIRE(read_all(*object) == std::string("a\0\0d\0\0", 6));
    const Status reserved = object->allocate(2, 10000);  // not every medium below /tmp can promise it
    REQUIRE((reserved || reserved.error().errno_value == EOPNOTSUPP));
    REQUIRE(read_all(*object) == std::string("a\0\0d\0\0", 6));
    REQUIRE(object->sync());
    REQUIRE(object->next_hole(0));
    REQUIRE(*object->next_data(0) <= 6);
    const auto cached = object->try_read_at(0, as_writable_bytes(part));
    REQUIRE(cached);
    if (*cached) REQUIRE(**cached == 4);
  }
  SECTION("a hole up to the end") {
    REQUIRE((*store.create("hole", Create::exclusive))->append(as_bytes("0123456789")));
    REQUIRE((*store.open("hole"))->punch_hole(4, 100));
    REQUIRE((*store.open("hole"))->sync());
    REQUIRE(read_all(**store.open("hole")) == std::string("0123\0\0\0\0\0\0", 10));
    REQUIRE((*store.open("hole"))->punch_hole(9, 1));
    REQUIRE((*store.open("hole"))->sync());
    REQUIRE(store.sync_names());
    if (backend.again) backend.store = backend.again();  // what it remembers is not what is there
    REQUIRE(read_all(**backend.store->open("hole")) == std::string("0123\0\0\0\0\0\0", 10));
  }
  SECTION("names") {
    REQUIRE(store.create("x/1", Create::exclusive));
    REQUIRE(store.create("x/1", Create::exclusive).error().errno_value == EEXIST);
    REQUIRE((*store.create("x/2", Create::keep))->write_at(0, as_bytes("two")));
    REQUIRE((*store.create("x/2", Create::keep))->info()->size == 3);
    REQUIRE((*store.create("x/2", Create::truncate))->info()->size == 0);
    REQUIRE(store.create("y", Create::exclusive));
    REQUIRE(*store.list("") == std::vector<std::string>{"x/1", "x/2", "y"});
    REQUIRE(*store.list("x") == std::vector<std::string>{"x/1", "x/2"});
    REQUIRE(store.list("nothing")->empty());
    REQUIRE(*store.exists("x/1"));
    REQUIRE(!*store.exists("x/3"));
    REQUIRE(!*store.exists("y/3"));
    REQUIRE((*store.open("x/1"))->write_at(0, as_bytes("one")));
    REQUIRE(store.rename("x/1", "x/2"));
    REQUIRE(store.rename("x/2", "new/folders/2"));
    REQUIRE(store.sync_names());
    REQUIRE(store.rename("new/folders/2", "x/2"));
    REQUIRE(read_all(**store.open("x/2")) == "one");
    REQUIRE(store.open("x/1").error().errno_value == ENOENT);
    REQUIRE(store.rename("x/1", "x/9").error().errno_value == ENOENT);
    REQUIRE(store.remove("x/2"));
    REQUIRE(store.remove("x/2").error().errno_value == ENOENT);
    REQUIRE(store.sync_names());
  }
  SECTION("a removed object lives as long as its handles") {
    auto object = *store.create("gone", Create::exclusive);
    REQUIRE(object->write_at(0, as_bytes("still here")));
    REQUIRE(store.remove("gone"));
    REQUIRE(read_all(*object) == "still here");
    REQUIRE(object->write_at(0, as_bytes("STILL")));
    REQUIRE(read_all(*object) == "STILL here");
    REQUIRE(store.create("gone", Create::exclusive));
    REQUIRE(read_all(*object) == "STILL here");
  }
  SECTION("one user at a time") {
    if (name == "overlay") return;  // it only looks: below
    auto lock = store.lock("first owner");
    REQUIRE(lock);
    REQUIRE(store.lock_for_reading().error().context == "first owner");
    const auto second = store.lock("second");
    REQUIRE(!second);
    REQUIRE(second.error().errno_value == EBUSY);
    REQUIRE(second.error().context == "first owner");
    lock->reset();
    REQUIRE(store.lock("third"));
  }
  SECTION("or several that look") {
    auto first = store.lock_for_reading();
    auto second = store.lock_for_reading();
    REQUIRE((first && second));
    if (name == "overlay") return;
    first->reset();
    const auto writer = store.lock("writer");
    REQUIRE(!writer);
    REQUIRE(writer.error().errno_value == EBUSY);
    REQUIRE(writer.error().context == kSomebodyReads);
    second->reset();
    REQUIRE(store.lock("writer"));
  }
  SECTION("many threads") {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&store, t] {
        for (int i = 0; i < 50; ++i) {
          const std::string mine = "t" + std::to_string(t) + "/" + std::to_string(i);
          auto object = store.create(mine, Create::exclusive);
          if (!object || !(*object)->write_at(0, as_bytes(mine)) || (i % 2 == 0 && !store.remove(mine)))
            std::abort();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(store.list("")->size() == 100);
    REQUIRE(read_all(**store.open("t3/49")) == "t3/49");
  }
  SECTION("the cache keeps handles, not names") {
    ObjectCache cache(store, 16);
    for (int i = 0; i < 100; ++i) {
      auto object = *store.create(std::to_string(i), Create::exclusive);
      REQUIRE(object->write_at(0, as_bytes(std::to_string(i))));
    }
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 100; ++i) REQUIRE(read_all(**cache.open(std::to_string(i))) == std::to_string(i));
    }
    auto held = *cache.open("7");
    cache.drop("7");
    REQUIRE(store.remove("7"));
    REQUIRE(read_all(*held) == "7");
    REQUIRE(!cache.open("7"));
  }
}

TEST_CASE("an overlay shows what is below, and changes nothing there") {
  using Create = ObjectStore::Create;
  MemoryStore below;
  for (const char* name : {"a", "b", "f/c", "f/d"}) {
    REQUIRE((*below.create(name, Create::exclusive))->write_at(0, as_bytes(std::string(name) + " below")));
  }
  OverlayStore store(below);
  const auto before = *store.open("a");  // a handle from before the first write sees it
  REQUIRE((*store.open("a"))->write_at(0, as_bytes("A")));
  REQUIRE(read_all(*before) == "A below");
  REQUIRE(before->append(as_bytes("!")));
  REQUIRE(read_all(**store.open("a")) == "A below!");

  const auto removed = *store.open("b");
  REQUIRE(store.remove("b"));
  REQUIRE(store.open("b").error().errno_value == ENOENT);
  REQUIRE(store.remove("b").error().errno_value == ENOENT);
  REQUIRE(removed->write_at(0, as_bytes("B")));
  REQUIRE(read_all(*removed) == "B below");
  REQUIRE(!*store.exists("b"));
  REQUIRE(store.create("b", Create::exclusive));
  REQUIRE(read_all(**store.open("b")).empty());

  REQUIRE(store.rename("f/c", "f/d"));
  REQUIRE(read_all(**store.open("f/d")) == "f/c below");
  REQUIRE(store.rename("f/d", "e"));
  REQUIRE((*store.create("e", Create::keep))->info()->size == 9);
  REQUIRE(*store.list("") == std::vector<std::string>{"a", "b", "e"});
  REQUIRE(store.list("f")->empty());

  store.freeze();
  REQUIRE(before->write_at(0, as_bytes("x")).error().errno_value == EROFS);
  REQUIRE(before->truncate(0).error().errno_value == EROFS);
  REQUIRE(store.create("g", Create::keep).error().errno_value == EROFS);
  REQUIRE(store.remove("a").error().errno_value == EROFS);
  REQUIRE(store.rename("a", "h").error().errno_value == EROFS);
  REQUIRE(before->sync());
  REQUIRE(read_all(*before) == "A below!");

  REQUIRE(*below.list("") == std::vector<std::string>{"a", "b", "f/c", "f/d"});
  for (const std::string name : {"a", "b", "f/c", "f/d"})
    REQUIRE(read_all(**below.open(name)) == name + " below");
}

TEST_CASE("a directory opened for reading takes no change") {
  Backend backend("posix");
  REQUIRE((*backend.store->create("f/a", ObjectStore::Create::exclusive))->write_at(0, as_bytes("bytes")));
  const auto store = *PosixStore::open_directory(backend.directory, PosixStore::Access::read_only);
  REQUIRE(*store->list("") == std::vector<std::string>{"f/a"});
  const auto object = *store->open("f/a");
  REQUIRE(read_all(*object) == "bytes");
  REQUIRE(object->write_at(0, as_bytes("x")).error().errno_value == EROFS);
  REQUIRE(store->create("b", ObjectStore::Create::keep).error().errno_value == EROFS);
  REQUIRE(store->remove("f/a").error().errno_value == EROFS);
  REQUIRE(store->rename("f/a", "b").error().errno_value == EROFS);
  REQUIRE(store->lock("writer").error().errno_value == EROFS);
  REQUIRE(store->lock_for_reading());  // without a lock object to hold, and none is made
  REQUIRE(*backend.store->list("") == std::vector<std::string>{"f/a"});
}

TEST_CASE("faulty store: the Nth operation fails") {
  FaultyStore store;
  auto object = *store.create("a", ObjectStore::Create::exclusive);
  store.fail_operation(2, ENOSPC, FaultyStore::Persistence::once);
  REQUIRE(object->write_at(0, as_bytes("x")));
  REQUIRE(object->write_at(0, as_bytes("y")).error().errno_value == ENOSPC);
  REQUIRE(object->write_at(0, as_bytes("z")));
  store.fail_operation(1, EIO, FaultyStore::Persistence::from_then_on);
  REQUIRE(!object->sync());
  REQUIRE(!store.remove("a"));
}

TEST_CASE("faulty store: a power cut keeps what was synced and at most a prefix of the rest") {
  bool lost = false, kept = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    FaultyStore store;
    auto object = *store.create("a", ObjectStore::Create::exclusive);
    REQUIRE(object->write_at(0, as_bytes("durable")));
    REQUIRE(object->sync());
    REQUIRE(object->write_at(7, as_bytes(" one")));
    REQUIRE(object->write_at(11, as_bytes(" two")));
    REQUIRE(store.create("b", ObjectStore::Create::exclusive));
    auto survivor = store.power_cut(seed);
    REQUIRE(!object->write_at(0, as_bytes("x")));
    const std::string bytes = read_all(**survivor->open("a"));
    REQUIRE(std::string("durable one two").starts_with(bytes));
    REQUIRE(bytes.size() >= 7);
    lost = lost || bytes.size() < 15;
    kept = kept || *survivor->exists("b");
  }
  REQUIRE((lost && kept));
}

}  // namespace cffs::test
