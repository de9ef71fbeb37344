// What tells that memory has no room for what is read ahead, and what only looks so.
#include <catch2/catch.hpp>
#include <memory>

#include "core/composite/read_ahead.h"

namespace cffs {
namespace {

using Scope = ReadAhead::Scope;
using Found = ReadAhead::Found;

constexpr std::uint64_t kMember = 16u << 10, kGroup = 20 * kMember, kComposite = 12 * kGroup;

Extent member_of(std::uint64_t composite, std::uint64_t member) {
  Extent e;
  e.composite = CompositeId{composite};
  e.offset = member * kMember;
  e.group_offset = e.offset / kGroup * kGroup;
  e.group_length = kGroup;
  e.length = kMember;
  return e;
}

Scope touch(ReadAhead& ahead, std::uint64_t composite, std::uint64_t member, Found found) {
  return ahead.touch(1, member_of(composite, member), found, kComposite).scope;
}

// All of it, at leisure.
void bring(ReadAhead& ahead, std::uint64_t composite) {
  REQUIRE(ahead.take_whole(CompositeId{composite}, kComposite));
  ahead.asked(CompositeId{composite});
}

bool has_room(ReadAhead& ahead) {
  constexpr std::uint64_t kAnother = 1'000'000;
  static std::uint64_t n = 0;
  return ahead.take_whole(CompositeId{kAnother + ++n}, kComposite);
}

}  // namespace

TEST_CASE("what somebody is about to ask for is on its way, not lost") {
  ReadAhead ahead;
  REQUIRE(touch(ahead, 5, 3, Found::absent) == Scope::member);
  REQUIRE(touch(ahead, 5, 7, Found::absent) == Scope::group);  // and waits, before it has asked for it
  REQUIRE(ahead.touch(2, member_of(5, 9), Found::absent, kComposite).scope == Scope::member);
  CHECK(ahead.counters().used == kMember);
  CHECK(has_room(ahead));
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
  REQUIRE(ahead.take_whole(CompositeId{5}, kComposite));
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

}  // namespace cffs
