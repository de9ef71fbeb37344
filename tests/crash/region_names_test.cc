// Names of a region store's objects that change hands: whenever the power is cut, what was synced is there, under a name that it had.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/region/recovery.h"
#include "tests/crash/small_region_store.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kCuts = 60;

std::shared_ptr<Object> put_synced(ObjectStore& store, const std::string& name, char byte) {
  auto object = *store.create(name, Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes(std::string(9000, byte))));
  REQUIRE(object->sync());
  return object;
}

// The machine after a power cut; 0: nothing is left that was not flushed.
std::unique_ptr<RegionStore> after_cut(const SectorMedium& medium, std::uint64_t seed) {
  return opened(std::make_shared<CrashDevice::State>(medium.cut(seed)));
}

SectorMedium medium_of(CrashDevice::State& state) {
  const MutexLock guard(state.mutex);
  return state.medium;
}

// The first bytes of all objects.
std::string first_bytes(RegionStore& store) {
  std::string all;
  const auto names = *store.list("");
  for (const std::string& name : names) {
    std::string byte(1, '?');
    REQUIRE((*store.open(name))->read_at(0, as_writable_bytes(byte)));
    all += byte;
  }
  return all;
}

void expect_after_cuts(const std::vector<SectorMedium>& media, char byte) {
  for (std::size_t i = 0; i < media.size(); ++i) {
    for (std::uint64_t seed = 2; seed < kCuts; ++seed) {
      INFO("flush " << i << ", seed " << seed);
      CHECK(first_bytes(*after_cut(media[i], seed)).find(byte) != std::string::npos);
    }
  }
}

// A thread's sync is held in its first flush until it is let go on.
class HeldSync {
 public:
  HeldSync(CrashDevice::State& state, Object& object) : state_(state) {
    state_.told = [this](const std::string& what) {
      if (what != "flush" || std::this_thread::get_id() != held_ || !holds_) return;
      is_there_ = true;
      while (holds_) wait();
    };
    thread_ = std::thread([this, &object] {
      while (!begins_) wait();
      done_ = object.sync().has_value();
    });
    held_ = thread_.get_id();
    begins_ = true;
    while (!is_there_) wait();
  }
  bool go_on() {
    holds_ = false;
    thread_.join();
    return done_;
  }
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
  // Another thread has got to where it waits for this one, if ever.
  static void let_others_begin() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

 private:
  CrashDevice::State& state_;
  std::atomic<bool> holds_{true}, begins_{false}, is_there_{false}, done_{false};
  std::thread::id held_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("what gave its name to another object is there whichever name the medium knows", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  put_synced(*store, "a", '1');
  put_synced(*store, "t", '2');
  std::vector<SectorMedium> media;
  state->told = [&](const std::string& what) {
    if (what == "flush") media.push_back(medium_of(*state));
  };
  REQUIRE(store->rename("a", "b"));
  SECTION("by a rename") {
    REQUIRE(store->rename("t", "a"));
    REQUIRE(store->sync_names());
    expect_after_cuts(media, '2');
  }
  SECTION("by one that is made") {
    REQUIRE(store->create("a", Create::exclusive));
    REQUIRE(store->sync_names());
  }
  state->told = nullptr;
  REQUIRE(!media.empty());
  expect_after_cuts(media, '1');
}

TEST_CASE("an object whose sync waits may take a name meanwhile, and what had that is there", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  put_synced(*store, "a", '1');
  const auto taking = put_synced(*store, "t", '2');
  REQUIRE(taking->append(as_bytes(std::string(9000, '2'))));
  HeldSync first(*state, *taking);
  std::atomic<bool> synced{false};
  std::thread second([&] { synced = taking->sync().has_value(); });
  HeldSync::let_others_begin();
  std::atomic<bool> renamed{false};
  std::thread names([&] { renamed = store->rename("a", "b") && store->rename("t", "a"); });
  HeldSync::let_others_begin();
  REQUIRE(first.go_on());
  second.join();
  names.join();
  REQUIRE(synced);
  REQUIRE(renamed);
  state->told = nullptr;
  CHECK(first_bytes(*after_cut(medium_of(*state), 0)).find('1') != std::string::npos);
}

TEST_CASE("a name that is replaced twice while names are synced is some object's", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  put_synced(*store, "X", 'B');
  const auto a = put_synced(*store, "a", 'A');
  put_synced(*store, "c", 'C');
  REQUIRE(a->append(as_bytes(std::string(9000, 'A'))));
  HeldSync first(*state, *a);
  REQUIRE(store->rename("a", "X"));
  std::atomic<bool> synced{false};
  std::thread names([&] { synced = store->sync_names().has_value(); });
  HeldSync::let_others_begin();
  REQUIRE(store->rename("c", "X"));
  REQUIRE(first.go_on());
  names.join();
  REQUIRE(synced);
  state->told = nullptr;
  CHECK(*after_cut(medium_of(*state), 0)->exists("X"));
}

TEST_CASE("what was removed gives its room back although nobody syncs names", "[region]") {
  auto state = std::make_shared<CrashDevice::State>(SectorMedium(std::uint64_t{64} << 20));
  {
    CrashDevice device(state);
    REQUIRE(RegionStore::format(device, {std::uint64_t{1} << 20, 64 * 1024}));
  }
  const auto store = opened(state);
  const std::uint64_t before = store->space()->free_bytes;
  const auto regions = [&] {
    std::uint64_t all = 0;
    const auto layout = store->layout();
    for (const RoomKind& room : layout->rooms)
      if (room.kind == "small" || room.kind == "large") all += room.regions;
    return all;
  };
  std::uint64_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "blobs/" + std::to_string(i);
    put_synced(*store, name, 'x');
    REQUIRE(store->remove(name));
    most = std::max(most, regions());
  }
  CHECK(most <= 16);
  REQUIRE(store->sync_names());
  CHECK(store->space()->free_bytes >= before - (1u << 20));
}

TEST_CASE("an object is synced with its region's head, whoever found that it cannot be written", "[region]") {
  auto state = formatted();
  const auto store = opened(state);
  const auto object = *store->create("a", Create::exclusive);
  REQUIRE(object->write_at(0, as_bytes(std::string(9000, 'A'))));
  int refused = 0;
  state->refuses = [&](std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::uint64_t kBefore = 16,
                            kRegion = 256;  // blocks: of the superblocks and the checkpoint, of a region
    const bool is_head = bytes == region::kBlock && (offset / region::kBlock - kBefore) % kRegion == 0;
    if (is_head) ++refused;
    return is_head ? EIO : 0;
  };
  for (int i = 0; i < 400 && refused == 0; ++i)
    (void)store->create("n" + std::to_string(i), Create::exclusive);
  REQUIRE(refused > 0);
  state->refuses = nullptr;
  REQUIRE(object->sync());
  CHECK(*after_cut(medium_of(*state), 0)->exists("a"));
}

TEST_CASE("what was replaced does not come back through a handle that is open on it", "[region]") {
  auto state = formatted();
  {
    const auto store = opened(state);
    put_synced(*store, "X", 'B');
    put_synced(*store, "a", 'A');
  }
  const auto store = opened(state);  // by its checkpoint
  const auto replaced = *store->open("X");
  CrashDevice device(state);
  const auto superblock = *region::read_superblock(device);
  const auto recovered = *region::recover(device, superblock);
  std::uint64_t onode = 0;
  for (const auto& found : recovered.objects)
    if (found.onode.name == "X") onode = region::onode_offset(superblock.geometry, found.id, 0);
  REQUIRE(onode > 0);
  state->refuses = [onode](std::uint64_t offset, std::uint64_t) {
    return offset / region::kBlock == onode / region::kBlock ? EIO : 0;
  };
  REQUIRE(store->rename("a", "X"));
  state->refuses = nullptr;
  REQUIRE(store->sync_names());
  REQUIRE(store->rename("X", "Y"));
  REQUIRE(store->sync_names());
  REQUIRE(replaced->write_at(20'000, as_bytes(std::string(10, 'z'))));
  const auto after = after_cut(medium_of(*state), 1);  // all that was written is there
  CHECK(first_bytes(*after) == "A");
}

}  // namespace cffs::test
