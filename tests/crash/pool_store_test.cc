// A store in a pool beside others who want it, and on bad days, without a cluster (tests/pool). What needs real daemons is in
// tests/mount/rados.sh.
#include <catch2/catch.hpp>
#include <string>

#include "core/backend/store_at.h"
#include "core/backup/store_copy.h"
#include "core/follow/followed_file_system.h"
#include "core/fs/file_system.h"
#include "core/rados/rados_store.h"
#include "tests/model/library_surface.h"
#include "tests/pool/memory_pool.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

using Create = ObjectStore::Create;

RadosAddress address() { return *RadosAddress::parse("rados:cffs/store"); }

std::shared_ptr<MemoryPool> pool_with_a_store(PoolMedium medium = {}) {
  auto pool = MemoryPool::make(std::move(medium));
  pool->use();
  const Status made = RadosStore::format(address());
  REQUIRE((made || made.error().errno_value == EEXIST));
  return pool;
}

std::string content(ObjectStore& store, const std::string& name) {
  const auto object = store.open(name);
  REQUIRE(object);
  return *read_whole(**object);
}

// RADOS objects that have names.
std::size_t maps_of(const PoolMedium& medium) {
  std::size_t maps = 0;
  for (int i = 0; i < 16; ++i)
    maps += medium.find("store.names." + rados::hexadecimal(static_cast<std::uint64_t>(i), 2)) != nullptr
                ? 1u
                : 0u;
  return maps;
}

Status put(Object& object, std::string_view bytes) {
  CFFS_TRY_VOID(object.write_at(0, as_bytes(bytes)));
  return object.sync();
}

// As cffs format does it.
Status format_at_address() {
  CFFS_TRY_VOID(make_rados_store(address().text()));
  CFFS_TRY(const auto store, open_store_at(address().text()));
  return FileSystem::format(*store, repeatable({}), SystemClock());
}

}  // namespace

TEST_CASE("a writer that answers keeps a store in a pool, one that does not is shut out", "[pool]") {
  const auto pool = pool_with_a_store();
  const auto first = *RadosStore::open(address(), false);
  const auto client = pool->newest();
  auto lock = first->lock("the first");
  REQUIRE(lock);
  const auto object = *first->create("blobs/a", Create::exclusive);
  REQUIRE(put(*object, "synced"));

  const auto second = *RadosStore::open(address(), false);
  REQUIRE(second->lock("the second").error().context == "the first");
  REQUIRE(second->lock_for_reading().error().errno_value == EBUSY);
  pool->pause(client);
  const auto taken = second->lock("the second");
  REQUIRE(taken);
  REQUIRE(content(*second, "blobs/a") == "synced");
  REQUIRE(put(**second->open("blobs/a"), "SYNCED"));

  // It wakes up: whatever it does is refused, and its going takes nothing from its successor.
  REQUIRE(put(*object, "stale!").error().errno_value == ESHUTDOWN);
  REQUIRE(first->create("blobs/b", Create::exclusive).error().errno_value == ESHUTDOWN);
  REQUIRE(first->open("blobs/a").error().errno_value == ESHUTDOWN);
  lock->reset();
  const auto third = *RadosStore::open(address(), false);
  REQUIRE(third->lock("the third").error().context == "the second");
  REQUIRE(content(*second, "blobs/a") == "SYNCED");
}

TEST_CASE("who follows a store in a pool is seen by its writer, and sees what it wrote", "[pool]") {
  const auto pool = pool_with_a_store();
  const auto writer = *RadosStore::open(address(), false);
  const auto lock = *writer->lock("the writer");
  REQUIRE(!writer->followed());
  REQUIRE(put(**writer->create("epochs/1", Create::exclusive), "one"));
  const auto reader = *RadosStore::open(address(), true);
  // Who else may write to the pool is not known: nothing in it makes anybody root.
  REQUIRE(!writer->is_private());
  REQUIRE(!reader->is_private());
  auto following = reader->follow();
  REQUIRE(following);
  REQUIRE(writer->followed());
  REQUIRE(content(*reader, "epochs/1") == "one");
  REQUIRE(reader->create("epochs/2", Create::keep).error().errno_value == EROFS);
  REQUIRE(put(**writer->open("epochs/1"), "more"));
  REQUIRE(put(**writer->create("epochs/2", Create::exclusive), "two"));
  REQUIRE(reader->look_again(""));
  REQUIRE(content(*reader, "epochs/1") == "more");
  REQUIRE(content(*reader, "epochs/2") == "two");
  following->reset();
  REQUIRE(!writer->followed());
}

TEST_CASE("what a follower opens while it looks at a store in a pool anew is as long as it is by then",
          "[pool]") {
  const auto pool = pool_with_a_store();
  const auto writer = *RadosStore::open(address(), false);
  const auto lock = *writer->lock("the writer");
  for (const char* name : {"epochs/1", "table/000005.log", "composites/7"}) {
    INFO(name);
    const auto object = *writer->create(name, Create::exclusive);
    REQUIRE(put(*object, "one"));
    const auto reader = *RadosStore::open(address(), true);
    REQUIRE(*reader->exists(name));
    bool grew = false;
    pool->on_look([&](const std::string& looked) {
      if (grew || !looked.ends_with(".00000000")) return;
      grew = true;
      REQUIRE(object->append(as_bytes(", two")));
      REQUIRE(object->sync());
      REQUIRE(reader->look_again(""));
      REQUIRE(reader->look_again(std::string(name).substr(0, std::string(name).find('/'))));
    });
    CHECK(content(*reader, name) == "one, two");
    pool->on_look(nullptr);
    REQUIRE(grew);
    CHECK(content(*reader, name) == "one, two");
  }
}

TEST_CASE("a user that may read and lock follows a store in a pool, at rest and beside its writer",
          "[pool]") {
  const auto pool = pool_with_a_store();
  const auto store = *RadosStore::open(address(), false);
  REQUIRE(FileSystem::format(*store, repeatable({}), SystemClock()));
  {
    LibrarySurface writer(*store, quiet(), nullptr);
    REQUIRE(writer.create("before", 0600) == 0);
  }
  pool->only_readers();
  const auto reader = *RadosStore::open(address(), true);
  REQUIRE(reader->lock_for_reading().error().errno_value == EPERM);
  REQUIRE(reader->writer()->owner == "");
  const auto sees = [](FollowedFileSystem& followed, const char* name) {
    return followed.state()->lookup(kRootInode, name).has_value();
  };
  const auto at_rest = FollowedFileSystem::open(*reader, quiet(), {});
  REQUIRE(at_rest);
  REQUIRE(sees(**at_rest, "before"));
  REQUIRE(store->followed());

  LibrarySurface writer(*store, quiet(), nullptr);
  REQUIRE(reader->writer()->owner != "");
  REQUIRE(writer.create("beside", 0600) == 0);
  REQUIRE(writer.fs().sync());
  REQUIRE(*(*at_rest)->move_on());
  REQUIRE(sees(**at_rest, "beside"));
  const auto second = *RadosStore::open(address(), true);
  const auto beside = FollowedFileSystem::open(*second, quiet(), {});
  REQUIRE(beside);
  REQUIRE(sees(**beside, "beside"));
}

TEST_CASE(
    "an operation on a pool that is refused is an error of whoever syncs, until the store is opened again",
    "[pool]") {
  const auto pool = pool_with_a_store();
  {
    const auto store = *RadosStore::open(address(), false);
    const auto lock = *store->lock("a test");
    const auto object = *store->create("blobs/a", Create::exclusive);
    REQUIRE(put(*object, "before!"));
    pool->refuse_change(1);
    REQUIRE(put(*object, "lost!!").error().errno_value == EIO);
    REQUIRE(object->sync().error().errno_value == EIO);
    // Nobody gets what lay there before for it, and all else is there.
    std::string bytes(6, 'x');
    REQUIRE(object->read_at(0, as_writable_bytes(bytes)).error().errno_value == EIO);
    REQUIRE(object->read_medium(0, as_writable_bytes(bytes)).error().errno_value == EIO);
    REQUIRE(*object->read_at(6, as_writable_bytes(bytes)) == 1);
    REQUIRE(put(*object, "after!").error().errno_value == EIO);
  }
  const auto store = *RadosStore::open(address(), false);
  const auto lock = *store->lock("a test");
  REQUIRE(put(**store->open("blobs/a"), "again!"));
  REQUIRE(content(*store, "blobs/a") == "again!!");
}

TEST_CASE("a full pool is ENOSPC, and goes on when it has room", "[pool]") {
  const auto pool = pool_with_a_store();
  const std::string large(1 << 20, 'x');
  {
    const auto store = *RadosStore::open(address(), false);
    const auto lock = *store->lock("a test");
    REQUIRE(put(**store->create("blobs/a", Create::exclusive), large));
    REQUIRE(store->space()->available_bytes > large.size());
    pool->set_capacity(large.size() + 1000);
    const Status full = put(**store->create("blobs/b", Create::exclusive), large);
    REQUIRE(full.error().errno_value == ENOSPC);
    REQUIRE(content(*store, "blobs/a") == large);
    REQUIRE(store->remove("blobs/a"));
  }
  const auto store = *RadosStore::open(address(), false);
  const auto lock = *store->lock("a test");
  REQUIRE(store->space()->available_bytes > 0);
  REQUIRE(put(**store->create("blobs/c", Create::exclusive), large));
  REQUIRE(content(*store, "blobs/c") == large);
}

TEST_CASE("a rename between two folders of a pool has one of its names wherever it ends", "[pool]") {
  const auto pool = pool_with_a_store();
  std::vector<PoolMedium> media;
  Mutex one_keeps;  // what removes the replaced one changes the pool, too
  const auto keep = [&](const std::string&) {
    const MutexLock guard(one_keeps);
    media.push_back(pool->medium());
  };
  {
    const auto store = *RadosStore::open(address(), false);
    const auto lock = *store->lock("a test");
    REQUIRE(put(**store->create("records/new", Create::exclusive), "new"));
    REQUIRE(put(**store->create("blobs/old", Create::exclusive), "old"));
    REQUIRE(maps_of(pool->medium()) == 2);  // or it would be one operation
    pool->on_change(keep);
    REQUIRE(store->rename("records/new", "blobs/old"));
    keep("anything more");
    REQUIRE(store->sync_names());
    pool->on_change(nullptr);
    keep("the end");
  }
  REQUIRE(media.size() > 3);
  for (std::size_t at = 0; at < media.size(); ++at) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      INFO("before operation " << at << ", seed " << seed);
      const auto after = pool_with_a_store(media[at].cut(seed));
      const auto store = *RadosStore::open(address(), false);
      const auto lock = *store->lock("the next one");
      const std::string found = content(*store, "blobs/old");
      const bool renamed = found == "new";
      REQUIRE((renamed || found == "old"));
      REQUIRE((renamed || at + 1 < media.size()));
      REQUIRE(*store->exists("records/new") == !renamed);
      if (!renamed) REQUIRE(content(*store, "records/new") == "new");
    }
  }
}

TEST_CASE("a format into a pool that ended anywhere is begun anew", "[pool][format]") {
  const auto pool = MemoryPool::make();
  pool->use();
  std::vector<PoolMedium> media;
  Mutex one_keeps;
  pool->on_change([&](const std::string&) {
    const MutexLock guard(one_keeps);
    media.push_back(pool->medium());
  });
  REQUIRE(format_at_address());
  pool->on_change(nullptr);
  REQUIRE(media.size() > 10);
  for (std::size_t at = 0; at < media.size(); ++at) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      INFO("before operation " << at << ", seed " << seed);
      const auto after = MemoryPool::make(media[at].cut(seed));
      after->use();
      const Status again = format_at_address();
      REQUIRE((again || again.error().errno_value == EEXIST));
      const auto store = *RadosStore::open(address(), false);
      auto fs = FileSystem::open(*store, quiet());
      REQUIRE(fs);
      REQUIRE((*fs)->close());
    }
  }
}

// What is left of it can be salvaged.
TEST_CASE("a store in a pool that lost its superblock, and a copy that is unfinished, are not formatted over",
          "[pool][format]") {
  const std::string mark = GENERATE(as<std::string>(), "", kUnfinishedCopy);
  const auto pool = pool_with_a_store();
  REQUIRE(format_at_address());
  std::vector<std::string> names;
  {
    const auto store = *RadosStore::open(address(), false);
    const auto lock = *store->lock("a test");
    REQUIRE(put(**store->create("composites/1", Create::exclusive), "members"));
    if (!mark.empty()) REQUIRE(put(**store->create(mark, Create::exclusive), "a store's id"));
    for (const char* superblock : {"superblock", "superblock.copy"}) REQUIRE(store->remove(superblock));
    names = *store->list("");
  }
  REQUIRE(format_at_address().error().errno_value == ENOTEMPTY);
  const auto store = *RadosStore::open(address(), false);
  REQUIRE(*store->list("") == names);
  REQUIRE(content(*store, "composites/1") == "members");
}

// What nobody names is removed by whoever has the store next, to the last piece.
TEST_CASE("an object that was removed leaves nothing in a pool, wherever its writer ends", "[pool]") {
  const auto pool = pool_with_a_store();
  const std::string large(9 << 20, 'x');
  std::vector<PoolMedium> media;
  std::size_t synced = 0;
  Mutex one_keeps;
  const auto keep = [&](const std::string&) {
    const MutexLock guard(one_keeps);
    media.push_back(pool->medium());
  };
  {
    const auto store = *RadosStore::open(address(), false);
    const auto lock = *store->lock("a test");
    pool->on_change(keep);  // the pieces go on another thread, while this one waits
    REQUIRE(put(**store->create("blobs/a", Create::exclusive), large));
    synced = media.size();
    REQUIRE(store->remove("blobs/a"));
    REQUIRE(put(**store->create("blobs/b", Create::exclusive), "one piece"));
    REQUIRE(store->remove("blobs/b"));
    REQUIRE(store->sync_names());
  }
  pool->on_change(nullptr);
  for (std::size_t at = 0; at < media.size(); ++at) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      INFO("at operation " << at << ", seed " << seed);
      const auto after = pool_with_a_store(media[at].cut(seed));
      {
        const auto store = *RadosStore::open(address(), false);
        const auto lock = *store->lock("the next one");
        if (*store->exists("blobs/a")) {
          // Whole, for as long as it can be found.
          if (at >= synced) REQUIRE(content(*store, "blobs/a") == large);
          REQUIRE(store->remove("blobs/a"));
        }
        if (*store->exists("blobs/b")) REQUIRE(store->remove("blobs/b"));
      }
      REQUIRE(after->medium().bytes() == 0);
    }
  }
}

}  // namespace cffs::test
