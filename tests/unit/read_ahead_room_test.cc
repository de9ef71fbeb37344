// What tells that memory has no room for what is read ahead, and what only looks so.
#include <catch2/catch.hpp>
#include <deque>
#include <set>
#include <utility>

#include "core/composite/read_ahead.h"

namespace cffs {
namespace {

using Scope = ReadAhead::Scope;
using Found = ReadAhead::Found;

constexpr std::uint64_t kMemberRoom = 16u << 10, kMembersRoom = 20, kGroupsRoom = 12;
constexpr std::uint64_t kGroupRoom = kMembersRoom * kMemberRoom, kCompositeRoom = kGroupsRoom * kGroupRoom;

Extent member_of(std::uint64_t composite, std::uint64_t member) {
  Extent e;
  e.composite = CompositeId{composite};
  e.offset = member * kMemberRoom;
  e.group_offset = e.offset / kGroupRoom * kGroupRoom;
  e.group_length = kGroupRoom;
  e.length = kMemberRoom;
  return e;
}

Scope touch(ReadAhead& ahead, std::uint64_t composite, std::uint64_t member, Found found) {
  return ahead.touch(1, member_of(composite, member), found, kCompositeRoom).scope;
}

// All of it, at leisure.
void bring(ReadAhead& ahead, std::uint64_t composite) {
  REQUIRE(ahead.take_whole(CompositeId{composite}, kCompositeRoom, 0));
  ahead.asked(CompositeId{composite});
}

bool has_room(ReadAhead& ahead) {
  constexpr std::uint64_t kAnother = 1'000'000;
  static std::uint64_t n = 0;
  return ahead.take_whole(CompositeId{kAnother + ++n}, kCompositeRoom, 0);
}

}  // namespace

TEST_CASE("what somebody is about to ask for is on its way, not lost") {
  ReadAhead ahead;
  REQUIRE(touch(ahead, 5, 3, Found::absent) == Scope::member);
  REQUIRE(touch(ahead, 5, 7, Found::absent) == Scope::group);  // and waits, before it has asked for it
  REQUIRE(ahead.touch(2, member_of(5, 9), Found::absent, kCompositeRoom).scope == Scope::member);
  CHECK(ahead.counters().used == kMemberRoom);
  CHECK(has_room(ahead));
}

TEST_CASE("who looked before others had asked for it cannot say that it was lost") {
  ReadAhead ahead;
  REQUIRE(touch(ahead, 5, 3, Found::absent) == Scope::member);
  const std::uint64_t looked = ahead.asks();  // and waits for something else
  REQUIRE(touch(ahead, 5, 7, Found::absent) == Scope::group);
  ahead.asked(CompositeId{5});
  (void)ahead.touch(2, member_of(5, 9), Found::absent, kCompositeRoom, 0, looked);
  CHECK(ahead.counters().used == kMemberRoom);
  CHECK(has_room(ahead));
  (void)ahead.touch(2, member_of(5, 9), Found::absent, kCompositeRoom, 0, ahead.asks());
  CHECK_FALSE(has_room(ahead));
}

TEST_CASE("what was asked for and is absent when it is wanted had no room") {
  ReadAhead ahead;
  REQUIRE(touch(ahead, 5, 3, Found::absent) == Scope::member);
  REQUIRE(touch(ahead, 5, 7, Found::absent) == Scope::group);
  ahead.asked(CompositeId{5});
  REQUIRE(touch(ahead, 5, 9, Found::absent) == Scope::member);
  CHECK_FALSE(has_room(ahead));
}

TEST_CASE("the next composite is on its way until it was asked for") {
  ReadAhead ahead;
  REQUIRE(ahead.take_whole(CompositeId{5}, kCompositeRoom, 0));
  (void)touch(ahead, 5, 9, Found::absent);
  CHECK(has_room(ahead));
}

TEST_CASE("what is gone though older things were there was dropped, with all the rest") {
  ReadAhead ahead;
  for (std::uint64_t c = 1; c <= 20; ++c) bring(ahead, c);
  REQUIRE(touch(ahead, 2, 3, Found::in_memory) == Scope::member);  // beside eighteen that came after it
  for (const std::uint64_t c : {18, 12, 19, 1, 20}) (void)touch(ahead, c, 4, Found::absent);
  CHECK(has_room(ahead));
  // What comes after that and goes says as much as ever.
  bring(ahead, 30);
  (void)touch(ahead, 30, 4, Found::absent);
  CHECK_FALSE(has_room(ahead));
}

TEST_CASE("where nearly all that was brought stays, what is gone was not pushed out") {
  ReadAhead ahead;
  for (std::uint64_t c = 1; c <= 20; ++c) bring(ahead, c);
  for (std::uint64_t c = 10; c <= 20; ++c) (void)touch(ahead, c, 3, Found::in_memory);
  (void)touch(ahead, 1, 4, Found::absent);  // more came since than was seen to have room
  CHECK(has_room(ahead));
  // But not where that is what happens as a rule.
  for (std::uint64_t c = 40; c < 60; ++c) {
    bring(ahead, c);
    if (c % 3 == 0) (void)touch(ahead, c, 3, Found::in_memory);
  }
  for (std::uint64_t c = 40; c < 60; ++c) (void)touch(ahead, c, 5, c < 56 ? Found::absent : Found::in_memory);
  CHECK_FALSE(has_room(ahead));
}

TEST_CASE("a composite that saved much while it was there is read whole again where it was not pushed out") {
  for (const std::uint64_t wanted : {3, 100}) {
    ReadAhead ahead;
    for (std::uint64_t c = 1; c <= 20; ++c) bring(ahead, c);
    for (std::uint64_t m = 0; m < wanted; ++m) REQUIRE(touch(ahead, 2, m, Found::in_memory) == Scope::member);
    (void)touch(ahead, 2, 120, Found::absent);
    CHECK(touch(ahead, 2, 180, Found::absent) == (wanted == 100 ? Scope::composite : Scope::member));
  }
}

TEST_CASE("who waits for the medium knows whether anybody did beside it") {
  ReadAhead ahead;
  {
    const ReadAhead::Wait one(ahead);
    CHECK(one.alone());
    {
      const ReadAhead::Wait other(ahead);
      CHECK_FALSE(other.alone());
      CHECK_FALSE(one.alone());
    }
    CHECK_FALSE(one.alone());  // it was beside it for a while
  }
  const ReadAhead::Wait next(ahead);
  CHECK(next.alone());
}

namespace {

// Memory for so many bytes, first in, first out.
struct SmallMemory {
  explicit SmallMemory(std::uint64_t bytes) : most(bytes / kMemberRoom) {}
  bool has(std::uint64_t composite, std::uint64_t at) const { return there.contains({composite, at}); }
  void bring(std::uint64_t composite, std::uint64_t at) {
    if (!there.insert({composite, at}).second) return;
    order.emplace_back(composite, at);
    if (order.size() > most) {
      there.erase(order.front());
      order.pop_front();
    }
  }
  std::uint64_t most;
  std::set<std::pair<std::uint64_t, std::uint64_t>> there;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> order;
};

// How many bytes are read for each that is wanted, by sweeps that take turns.
double cost_of_sweeps(std::uint64_t readers, std::uint64_t memory_bytes) {
  ReadAhead ahead;
  SmallMemory memory(memory_bytes);
  constexpr std::uint64_t kEach = 6;  // composites
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < kEach * kGroupsRoom * kMembersRoom; ++i) {
    for (std::uint64_t r = 0; r < readers; ++r) {
      const std::uint64_t composite = 1000 * (r + 1) + i / (kGroupsRoom * kMembersRoom);
      const std::uint64_t member = i % (kGroupsRoom * kMembersRoom);
      const bool there = memory.has(composite, member);
      const auto advice = ahead.touch(r + 1, member_of(composite, member),
                                      there ? Found::in_memory : Found::absent, kCompositeRoom);
      if (there) continue;
      if (advice.scope != Scope::member) ahead.asked(CompositeId{composite});
      const std::uint64_t first = advice.scope == Scope::composite ? 0
                                  : advice.scope == Scope::group   ? member / kMembersRoom * kMembersRoom
                                                                   : member;
      const std::uint64_t count = advice.scope == Scope::composite ? kGroupsRoom * kMembersRoom
                                  : advice.scope == Scope::group   ? kMembersRoom
                                                                   : 1;
      for (std::uint64_t m = first; m < first + count; ++m) {
        bytes += memory.has(composite, m) ? 0 : kMemberRoom;
        memory.bring(composite, m);
      }
    }
  }
  return static_cast<double>(bytes) / static_cast<double>(readers * kEach * kCompositeRoom);
}

}  // namespace

TEST_CASE("where memory does not keep what is read ahead, less is") {
  CHECK(cost_of_sweeps(8, 64u << 20) < 1.05);
  CHECK(cost_of_sweeps(8, 16u << 20) < 2.5);
  CHECK(cost_of_sweeps(8, 4u << 20) < 2.5);
  CHECK(cost_of_sweeps(1, 4u << 20) < 2.5);
}

}  // namespace cffs
