// What a region store still promises after a write of its device that failed: that it is not written is nobody's but the caller's
// whom it was told, and whoever comes next finds everything that is still to be done.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>

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

TEST_CASE("of several objects that are committed together one fails, and the others are still to be flushed",
          "[region]") {
  for (const int reason : {EIO, ENOSPC}) {
    for (const std::string failing : {"a", "b"}) {  // whichever comes first
      INFO(failing << ", errno " << reason);
      const std::string whole = failing == "a" ? "b" : "a";
      auto state = formatted();
      const auto store = opened(state);
      for (const char* name : {"a", "b"}) {
        auto object = *store->create(name, Create::exclusive);
        scatter(*object, '1');
        REQUIRE(object->sync());
      }
      for (const std::string name : {"a", "b"})
        REQUIRE(store->rename(name, name + "2"));  // committed together
      auto good = *store->open(whole + "2"), bad = *store->open(failing + "2");
      REQUIRE(good->truncate(20 * kStep));
      scatter(*good, '2');
      scatter(*bad, '2', kPieces, 1);
      refuse_nodes(*state, reason, 1000);
      REQUIRE(!bad->write_at(2 * kPieces * kStep, as_bytes(std::string(2 * kBlock, '3'))));
      REQUIRE(!store->sync_names());
      state->refuses = nullptr;
      REQUIRE(good->sync());
      REQUIRE(bad->sync());
      const auto survivor = after_power_cut(*state);
      REQUIRE(survivor->layout()->damaged.empty());
      REQUIRE((contents(**survivor->open(whole + "2")) == contents(*good)));
      REQUIRE((contents(**survivor->open(failing + "2")) == contents(*bad)));
      good.reset();
      bad.reset();
      check_room(*store);
    }
  }
}

TEST_CASE("what an object lost is free after the commit that succeeds, whichever failed before", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  auto object = *store->create("a", Create::exclusive);
  scatter(*object, '1');
  REQUIRE(object->sync());
  REQUIRE(object->truncate(kStep));
  state->refuses = [](std::uint64_t, std::uint64_t bytes) { return bytes == region::kSectorBytes ? EIO : 0; };
  REQUIRE(!object->sync());
  state->refuses = nullptr;
  REQUIRE(object->sync());
  object.reset();
  check_room(*store);
  // Also what waits counts as room; but a region in which nothing is left has no kind any more.
  const Layout layout = *store->layout();
  for (const RoomKind& room : layout.rooms) REQUIRE((room.kind == "unused" || room.regions == 0));
}

TEST_CASE("one object that finds no room for its nodes does not keep what others lost from coming free",
          "[region]") {
  for (const std::string failing : {"a", "b"}) {
    auto state = formatted();
    const auto store = opened(state);
    for (const char* name : {"a", "b"}) {
      auto object = *store->create(name, Create::exclusive);
      scatter(*object, '1');
      REQUIRE(object->sync());
      REQUIRE(object->truncate(40 * kStep));
    }
    auto bad = *store->open(failing);
    // Whoever wants a node is refused one, and the other's onode is written all the same.
    std::uint64_t sectors = 0;
    state->refuses = [&sectors](std::uint64_t, std::uint64_t bytes) {
      sectors += bytes == region::kSectorBytes ? 1 : 0;
      return bytes == kBlock ? ENOSPC : 0;
    };
    REQUIRE(!bad->write_at(kPieces * kStep, as_bytes(std::string(2 * kBlock, '3'))));
    REQUIRE(sectors > 0);
    state->refuses = nullptr;
    REQUIRE(bad->sync());
    bad.reset();
    check_room(*store);
  }
}

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
  REQUIRE((contents(**survivor->open("a")) == contents(*object)));
}

TEST_CASE("a write that is tried again once there is room is in the onode, too, and an append is there once",
          "[region]") {
  for (const bool appends : {true, false}) {
    for (const bool synced : {true, false}) {
      INFO("appends " << appends << ", synced " << synced);
      auto state = formatted();
      const auto store = opened(state);
      auto object = *store->create("a", Create::exclusive);
      scatter(*object, '1');
      REQUIRE(object->truncate((kPieces + 1) * kStep));  // what comes next is an extent of its own
      REQUIRE(object->sync());
      auto other = *store->create("other", Create::exclusive);
      scatter(*other, '1');
      REQUIRE(other->sync());
      other.reset();
      REQUIRE(store->remove("other"));  // whose room is free once that is durable
      const std::string more(2 * kBlock, '2'), wanted = contents(*object) + more;
      refuse_nodes(*state, ENOSPC, 1);
      if (appends)
        REQUIRE(object->append(as_bytes(more)));
      else
        REQUIRE(object->write_at((kPieces + 1) * kStep, as_bytes(more)));
      state->refuses = nullptr;
      REQUIRE((contents(*object) == wanted));
      if (synced) {
        REQUIRE(object->sync());
        REQUIRE((contents(**after_power_cut(*state)->open("a")) == wanted));
      } else {
        store->abandon();  // as if killed
        REQUIRE((contents(**opened(state)->open("a")) == wanted));
      }
    }
  }
}

TEST_CASE("a region head whose write failed is written before anything lies in that region", "[region]") {
  for (const bool killed : {true, false}) {
    for (int which = 1; which <= 4; ++which) {
      INFO("head " << which << ", killed " << killed);
      auto state = formatted();
      const auto store = opened(state);
      const std::uint64_t room = store->space()->free_bytes;
      int heads = 0;
      state->refuses = [&](std::uint64_t offset, std::uint64_t bytes) {
        const bool head = bytes == kBlock && (offset / kBlock - region::kHeadBlocks) % 256 == 0;
        return head && ++heads == which ? EIO : 0;
      };
      const std::string small(3000, 's'), large(300'000, 'L');
      const auto again = [](const auto& call) {  // what failed is tried once more
        if (!call()) REQUIRE(call());
      };
      for (int i = 0; i < 30; ++i) {
        const std::string name = "n" + std::to_string(i);
        const std::string& bytes = i % 2 == 0 ? small : large;
        std::shared_ptr<Object> object;
        again([&] {
          auto made = store->create(name, Create::keep);
          if (made) object = *made;
          return made.has_value();
        });
        again([&] { return object->write_at(0, as_bytes(bytes)).has_value(); });
        again([&] { return object->sync().has_value(); });
        if (heads >= which && i > 6) break;
      }
      REQUIRE(heads >= which);
      state->refuses = nullptr;
      const auto names = *store->list("");
      if (killed) store->abandon();
      const auto survivor = killed ? opened(state) : after_power_cut(*state);
      REQUIRE(survivor->layout()->damaged.empty());
      REQUIRE(*survivor->list("") == names);
      for (const std::string& name : names) REQUIRE(contents(**survivor->open(name)).size() % 3000 == 0);
      if (!killed) {
        check_room(*store);
        REQUIRE(store->space()->free_bytes == room);
      }
    }
  }
}

TEST_CASE("what a clean end calls begun is begun after a power cut, too", "[region]") {
  auto state = formatted();
  constexpr int kDurable = 60, kAll = 70;  // a head says that 64 onodes are begun, then 64 more
  {
    const auto store = opened(state);
    for (int i = 0; i < kDurable; ++i)
      REQUIRE((*store->create("n" + std::to_string(i), Create::exclusive))->sync());
    for (int i = kDurable; i < kAll; ++i) REQUIRE(store->create("n" + std::to_string(i), Create::exclusive));
    for (int i = kDurable; i < kAll; ++i) REQUIRE(store->remove("n" + std::to_string(i)));  // never durable
  }
  const auto store = opened(state);
  for (int i = kDurable; i < kAll; ++i)
    REQUIRE((*store->create("n" + std::to_string(i), Create::exclusive))->sync());
  REQUIRE(!store->was_scanned());
  REQUIRE(after_power_cut(*state)->list("")->size() == kAll);
}

TEST_CASE(
    "where it cannot be said that a store is in use, it is said before the next change, or there is none",
    "[region]") {
  std::uint64_t changed = 0, refused = 0;
  for (const bool flushes : {false, true}) {
    for (const std::uint64_t nth : {1u, 2u}) {
      for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
        INFO((flushes ? "flush " : "write ") << nth << " fails, seed " << seed);
        auto state = formatted();
        {
          const auto store = opened(state);
          auto object = *store->create("a", Create::exclusive);
          scatter(*object, '1');
          REQUIRE(object->sync());
        }
        const auto store = opened(state);
        REQUIRE(store->exists("a"));
        if (flushes) {
          const MutexLock guard(state->mutex);
          state->flushes_to_failure = nth;
          state->losing = seed;
        } else {
          std::uint64_t heads = 0;
          state->refuses = [nth, heads](std::uint64_t offset, std::uint64_t) mutable {
            return offset < 2 * kBlock && ++heads == nth ? EIO : 0;
          };
        }
        // As LevelDB's log, which asks for an object in another way when it was refused one.
        auto made = store->create("b", Create::keep);
        if (!made) made = store->create("b", Create::keep);
        // It takes no blocks: the checkpoint stays whole, and would be believed.
        const bool synced = made && (*made)->sync();
        ++(synced ? changed : refused);
        made = fail(ENOENT);
        store->abandon();
        const auto next = after_power_cut(*state);
        REQUIRE(next->lock("next"));
        REQUIRE(next->layout()->damaged.empty());
        REQUIRE((contents(**next->open("a")).front() == '1'));
        if (synced) REQUIRE(*next->exists("b"));
      }
    }
  }
  CHECK(changed >= 8);
  CHECK(refused >= 4);
}

TEST_CASE("where one superblock rots, the other names no checkpoint that does not hold any more",
          "[region]") {
  for (const std::uint64_t rotten : {0u, 1u}) {
    for (const bool used : {true, false}) {
      INFO("copy " << rotten << ", used " << used);
      auto state = formatted();
      for (const char* name : {"a", "b"}) {  // two lives, so that both copies have been clean
        const auto store = opened(state);
        auto object = *store->create(name, Create::exclusive);
        scatter(*object, '1');
        REQUIRE(object->sync());
      }
      {
        const auto store = opened(state);
        if (used) {
          REQUIRE(store->remove("a"));
          REQUIRE(store->sync_names());
          auto object = *store->create("c", Create::exclusive);  // where the other was
          scatter(*object, '2');
          REQUIRE(object->sync());
          object.reset();
          store->abandon();
        }
      }
      {
        const MutexLock guard(state->mutex);
        state->medium.flip(rotten * kBlock + 100, 1);
      }
      const std::vector<std::string> wanted =
          used ? std::vector<std::string>{"b", "c"} : std::vector<std::string>{"a", "b"};
      for (const auto& next : {after_power_cut(*state), opened(state)}) {
        REQUIRE(*next->list("") == wanted);
        REQUIRE(next->was_scanned());
        REQUIRE(next->lock("next"));  // and closes it
        REQUIRE(*next->list("") == wanted);
        REQUIRE(!next->was_scanned());
      }
      check_room(*opened(state));
    }
  }
}

TEST_CASE("a power cut on the way to a store's use leaves a superblock that is right", "[region]") {
  auto state = formatted();
  {
    const auto store = opened(state);
    auto object = *store->create("a", Create::exclusive);
    scatter(*object, '1');
    REQUIRE(object->sync());
  }
  std::vector<SectorMedium> before;
  state->told = [&](const std::string&) {
    const MutexLock guard(state->mutex);
    before.push_back(state->medium);
  };
  const auto store = opened(state);
  REQUIRE(store->create("b", Create::exclusive));
  state->told = nullptr;
  store->abandon();
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const std::uint64_t seed : {0u, 1u, 5u}) {
      for (const std::uint64_t torn : {0u, 1u, 2u}) {  // the copy that is being written; 2: none
        INFO("before change " << i << ", seed " << seed << ", torn " << torn);
        const auto after = std::make_shared<CrashDevice::State>(before[i].cut(seed));
        if (torn < 2) {
          const MutexLock guard(after->mutex);
          after->medium.flip(torn * kBlock + 100, 1);
        }
        const auto next = opened(after);
        REQUIRE(contents(**next->open("a")).size() == (kPieces - 1) * kStep + 2 * kBlock);
        REQUIRE(next->layout()->damaged.empty());
      }
    }
  }
}

TEST_CASE("where what a live sector names is not there, the object is as it was committed last", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  auto object = *store->create("a", Create::exclusive);
  scatter(*object, '1');
  REQUIRE(object->sync());
  const std::string committed = contents(*object);
  std::uint64_t written = 0;  // node
  state->told = [&](const std::string& what) {
    const auto plus = what.find('+');
    if (what.starts_with("write ") && what.substr(plus) == "+4096") written = std::stoull(what.substr(6));
  };
  REQUIRE(object->truncate((kPieces - 2) * kStep));  // no data, one node
  state->told = nullptr;
  REQUIRE(written != 0);
  const std::string live = contents(*object);
  object.reset();
  store->abandon();
  REQUIRE((contents(**opened(state)->open("a")) == live));
  {
    const MutexLock guard(state->mutex);
    state->medium.flip(written + 50, 1);
  }
  {
    const auto next = opened(state);
    REQUIRE(*next->exists("a"));
    REQUIRE((contents(**next->open("a")) == committed));
    REQUIRE(next->layout()->damaged.size() == 1);
    const auto lock = next->lock("next");
    REQUIRE(lock);
    next->abandon();
  }
  {
    // Whoever comes next believes what was settled, whatever becomes of that node.
    const MutexLock guard(state->mutex);
    state->medium.flip(written + 50, 1);
  }
  const auto last = opened(state);
  REQUIRE((contents(**last->open("a")) == committed));
  REQUIRE(last->layout()->damaged.empty());
  REQUIRE((contents(**after_power_cut(*state)->open("a")) == committed));
  check_room(*last);
}

TEST_CASE("a rename over a name is done or not, whichever of its writes fails", "[region]") {
  std::uint64_t failures = 0, done = 0;
  for (const int reason : {EIO, ENOSPC}) {
    for (const bool synced : {true, false}) {
      for (const bool known : {true, false}) {  // what the onodes' blocks hold, or found by a checkpoint
        for (std::uint64_t nth = 1;; ++nth) {
          INFO("errno " << reason << ", synced " << synced << ", known " << known << ", write " << nth);
          if (!synced && !known) break;  // a checkpoint has nothing that was not synced
          auto state = formatted();
          auto store = opened(state);
          for (const char* name : {"a", "b"}) {
            auto object = *store->create(name, Create::exclusive);
            scatter(*object, name[0]);
            if (synced) REQUIRE(object->sync());
          }
          if (!known) store = opened((store.reset(), state));
          REQUIRE(store->create("c", Create::exclusive));
          std::uint64_t writes = 0;
          state->refuses = [&writes, nth, reason](std::uint64_t, std::uint64_t) {
            return ++writes == nth ? reason : 0;
          };
          const Status renamed = store->rename("a", "b");
          state->refuses = nullptr;
          if (writes < nth) break;
          ++failures;
          done += renamed ? 1 : 0;
          REQUIRE(*store->exists("a") == !renamed);
          const char there = renamed ? 'a' : 'b';
          REQUIRE(contents(**store->open("b")).front() == there);
          {
            const MutexLock guard(state->mutex);
            const auto killed = opened(std::make_shared<CrashDevice::State>(state->medium));
            REQUIRE(contents(**killed->open("b")).front() == there);
            REQUIRE(killed->layout()->damaged.empty());
          }
          REQUIRE(store->sync_everything());
          const auto after = after_power_cut(*state);
          REQUIRE(contents(**after->open("b")).front() == there);
          REQUIRE(*after->exists("a") == !renamed);
          REQUIRE(after->layout()->damaged.empty());
          // Nothing of what was replaced is lost, nor comes back.
          if (renamed) REQUIRE(store->rename("b", "d"));
          REQUIRE(store->sync_everything());
          REQUIRE(*after_power_cut(*state)->exists("b") == !renamed);
          check_room(*store);
        }
      }
    }
  }
  CHECK(failures > 6);
  CHECK(done > 3);
}

// As packing and sealing do it while a commit is under way.
TEST_CASE("an object that another replaces while names are synced is there, or the other", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  const auto put = [&](const std::string& name, char byte) {
    const auto object = *store->create(name, Create::exclusive);
    REQUIRE(object->write_at(0, as_bytes(std::string(2 * kBlock, byte))));
    REQUIRE(object->sync());
  };
  for (const std::string name : {"a", "b"}) {
    put(name, '1');
    put(name + ".new", '2');
  }
  REQUIRE(store->rename("a.new", "a"));
  bool flushed = false;
  state->told = [&](const std::string& what) {
    if (what.find("flush") == std::string::npos || std::exchange(flushed, true)) return;
    REQUIRE(store->rename("b.new", "b"));
  };
  REQUIRE(store->sync_names());
  state->told = nullptr;
  REQUIRE(flushed);
  const auto after = after_power_cut(*state);
  for (const char* name : {"a", "b"}) {
    INFO(name);
    CHECK(*after->exists(name));
  }
}

TEST_CASE("what was removed for good does not come back where anything else lies over one of its sectors",
          "[region]") {
  for (const unsigned lost : {0u, 1u}) {
    for (const int commits : {1, 2, 3}) {
      INFO("sector " << lost << ", " << commits << " commits");
      auto state = formatted();
      const auto store = opened(state);
      {
        auto object = *store->create("a", Create::exclusive);
        for (int i = 0; i < commits; ++i) {
          scatter(*object, '1', static_cast<std::uint64_t>(i), 1);
          REQUIRE(object->sync());
        }
      }
      CrashDevice device(state);
      const region::Geometry geometry = region::read_superblock(device)->geometry;
      const region::Recovered found = *region::recover(device, *region::read_superblock(device));
      REQUIRE(found.objects.size() == 1);
      const std::uint64_t sector = region::onode_offset(geometry, found.objects.front().id, lost);
      REQUIRE(store->remove("a"));
      REQUIRE(store->sync_names());
      {
        const MutexLock guard(state->mutex);
        state->medium.flip(sector + 20, 1);
      }
      REQUIRE(!*after_power_cut(*state)->exists("a"));
    }
  }
}

TEST_CASE("an object that is moved shows what was durable until it is durable where it is", "[region]") {
  auto state = formatted();
  {
    const auto store = opened(state);
    auto object = *store->create("a", Create::exclusive);
    scatter(*object, '1');
    REQUIRE(object->sync());
  }
  // As found by a checkpoint, when what its onode's block holds is not in memory.
  CrashDevice device(state);
  region::Recovered found = *region::recover(device, *region::read_superblock(device));
  REQUIRE(!found.scanned);
  REQUIRE(found.objects.size() == 1);
  const region::Geometry geometry = found.regions.geometry();
  const auto shared = std::shared_ptr<region::Shared>(
      new region::Shared{device, geometry, region::Allocation(device, std::move(found.regions)), found.epoch});
  shared->allocation.set_version(found.version);
  const region::Body::Found& object = found.objects.front();
  const region::Run node = found.mappings.front().node_runs().front();
  const region::Run all{geometry.first_block(geometry.region_of(node.block)),
                        static_cast<std::uint32_t>(geometry.region_blocks)};
  region::Body body(shared, object.id, object.onode, std::move(found.mappings.front()), object.durable_sector,
                    object.durable_version, false);
  REQUIRE(*body.move_out(all));
  for (std::uint64_t seed = 2; seed < 40; ++seed) {
    INFO("seed " << seed);
    // As after an end that was not clean: the superblock says so before anything is changed.
    auto after = std::make_shared<CrashDevice::State>(SectorMedium(0));
    {
      const MutexLock guard(state->mutex);
      after->medium = state->medium.cut(seed);
    }
    CrashDevice left(after);
    region::Superblock used = *region::read_superblock(left);
    used.clean = false;
    used.version += 1;
    REQUIRE(region::write_superblock(left, used));
    const auto survivor = opened(after);
    REQUIRE(survivor->layout()->damaged.empty());
    REQUIRE(contents(**survivor->open("a")).size() == (kPieces - 1) * kStep + 2 * kBlock);
  }
}

}  // namespace cffs::test
