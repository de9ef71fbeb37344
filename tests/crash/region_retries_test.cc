// A change of an object whose writing failed at any of its writes, is tried again and synced: what is found after a power cut is
// what it was and the caller was told so, or what it was to be. And what the process left when it ended instead is one of both.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/crash/small_region_store.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kRetriedBlock = 4096, kRetriedStep = 2 * kRetriedBlock;

std::string whole(char byte) { return std::string(kRetriedBlock, byte); }

// An object of blocks with holes between; from 40 on its extents take nodes, from 160 several.
void scatter(Object& object, std::uint64_t pieces) {
  for (std::uint64_t i = 0; i < pieces; ++i)
    REQUIRE(object.write_at(i * kRetriedStep, as_bytes(whole(static_cast<char>('a' + i % 26)))));
}

struct Change {
  std::string what;
  std::uint64_t pieces;
  std::function<Status(RegionStore&, Object&)> make;
};

std::vector<Change> changes() {
  std::vector<Change> all;
  for (const std::uint64_t pieces : {3u, 60u, 165u, 168u, 169u, 170u, 200u}) {
    const auto add = [&](const std::string& what, const std::function<Status(RegionStore&, Object&)>& make) {
      all.push_back({what, pieces, make});
    };
    const std::uint64_t end = pieces * kRetriedStep;
    add("write behind the end",
        [end](RegionStore&, Object& o) { return o.write_at(end + kRetriedStep, as_bytes(whole('W'))); });
    add("write into a hole", [](RegionStore&, Object& o) {
      return o.write_at(kRetriedBlock + kRetriedStep, as_bytes(whole('W')).first(900));
    });
    add("write into a hole and behind the end", [end](RegionStore&, Object& o) {
      return o.write_at(end - kRetriedBlock, as_bytes(std::string(3 * kRetriedBlock, 'W')));
    });
    add("cut", [](RegionStore&, Object& o) { return o.truncate(kRetriedStep + 1000); });
    add("cut by a little", [end](RegionStore&, Object& o) { return o.truncate(end - kRetriedStep - 100); });
    add("lengthen", [end](RegionStore&, Object& o) { return o.truncate(end + 100 * kRetriedBlock); });
    add("punch", [](RegionStore&, Object& o) { return o.punch_hole(kRetriedStep, kRetriedBlock); });
    add("punch in the middle of much", [end](RegionStore&, Object& o) {
      return o.punch_hole(end / 2 / kRetriedStep * kRetriedStep, end / 4 / kRetriedStep * kRetriedStep);
    });
    add("reserve", [](RegionStore&, Object& o) { return o.allocate(0, 4 * kRetriedBlock); });
    add("rename", [](RegionStore& s, Object&) -> Status {
      if (!*s.exists("a")) return {};
      return s.rename("a", "b");
    });
  }
  return all;
}

struct Seen {
  std::string bytes;
  std::uint64_t allocated = 0;
  bool renamed = false;
  bool operator==(const Seen&) const = default;
};

Seen seen(RegionStore& store) {
  const bool renamed = *store.exists("b");
  REQUIRE(*store.exists("a") != renamed);
  const auto object = *store.open(renamed ? "b" : "a");
  return {contents(*object), object->info()->allocated, renamed};
}

std::unique_ptr<RegionStore> store_after_power_cut(CrashDevice::State& state) {
  const MutexLock guard(state.mutex);
  return opened(std::make_shared<CrashDevice::State>(state.medium.cut(0)));
}

// As the next process finds it on the same machine.
std::unique_ptr<RegionStore> after_kill(CrashDevice::State& state) {
  const MutexLock guard(state.mutex);
  return opened(std::make_shared<CrashDevice::State>(state.medium));
}

enum class Then { retry, sync_alone, other_change };

// False: no write failed any more.
bool fails_at(const Change& change, std::uint64_t nth, bool changed_before, Then then) {
  INFO(change.what << " of " << change.pieces << " pieces, write " << nth << " fails, "
                   << (changed_before ? "changed" : "unchanged") << " since its commit, then "
                   << static_cast<int>(then));
  auto state = formatted();
  auto store = opened(state);
  auto object = *store->create("a", Create::exclusive);
  scatter(*object, change.pieces);
  REQUIRE(object->sync());
  if (changed_before) REQUIRE(object->write_at(3 * kRetriedBlock, as_bytes(whole('c'))));
  const Seen before = seen(*store);
  {
    const MutexLock guard(state->mutex);
    state->writes_to_failure = nth;
  }
  const Status first = change.make(*store, *object);
  bool failed = false;
  {
    const MutexLock guard(state->mutex);
    failed = state->writes_to_failure == 0;
    state->writes_to_failure = 0;
  }
  if (!failed) return false;
  const auto killed = seen(*after_kill(*state));
  if (!first) {
    // All that was there before and that the change does not touch is there.
    REQUIRE(killed.bytes.size() >= std::min(before.bytes.size(), std::size_t{kRetriedStep} + 1000));
    REQUIRE((killed.bytes.substr(0, kRetriedBlock) == before.bytes.substr(0, kRetriedBlock)));
    if (change.what != "cut" && change.what != "cut by a little") {
      std::uint64_t lost = 0;
      for (std::uint64_t i = 0; i < change.pieces; ++i) {
        const std::string was = before.bytes.substr(i * kRetriedStep, kRetriedBlock);
        const bool punched = change.what.starts_with("punch");
        const std::string is = killed.bytes.substr(i * kRetriedStep, kRetriedBlock);
        if (is != was && !(punched && is == std::string(is.size(), '\0'))) ++lost;
        if (is != was && punched && change.what == "punch" && i != 1) ++lost;
      }
      REQUIRE(lost == 0);
    }
  }
  if (then == Then::retry) REQUIRE(change.make(*store, *object));
  if (then == Then::other_change) REQUIRE(object->write_at(0, as_bytes("other")));
  const Seen live = seen(*store);
  if (then == Then::retry) REQUIRE((seen(*after_kill(*state)) == live));
  REQUIRE(object->sync());
  REQUIRE(store->sync_names());
  REQUIRE((seen(*store) == live));
  for (const auto& next : {store_after_power_cut(*state), after_kill(*state)}) {
    REQUIRE(next->layout()->damaged.empty());
    REQUIRE((seen(*next) == live));
  }
  object.reset();
  store.reset();  // by its checkpoint
  store = opened(state);
  REQUIRE((seen(*store) == live));
  const auto lock = store->lock("after");
  REQUIRE(lock);
  check_room(*store);
  return true;
}

}  // namespace

TEST_CASE("a change whose write failed and that is tried again is what a sync makes durable", "[region]") {
  std::uint64_t failures = 0;
  for (const Change& change : changes()) {
    for (const bool changed_before : {false, true}) {
      for (const Then then : {Then::retry, Then::sync_alone, Then::other_change}) {
        for (std::uint64_t nth = 1; fails_at(change, nth, changed_before, then); ++nth) ++failures;
      }
    }
  }
  CHECK(failures > 500);
}

}  // namespace cffs::test
