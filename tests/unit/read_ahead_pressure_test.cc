// Where memory keeps a part of what readers come back to: what is read ahead goes before it has paid, and must not be read again and again.
#include <catch2/catch.hpp>
#include <list>
#include <random>
#include <unordered_map>

#include "core/composite/read_ahead.h"

namespace cffs {
namespace {

using Scope = ReadAhead::Scope;
using Found = ReadAhead::Found;

// Composites of members that lie in groups of so many, and memory that forgets what was not used longest.
struct PressedMemory {
  PressedMemory(std::uint64_t of_composites, std::uint64_t of_members, std::uint64_t in_group,
                std::uint64_t kept_members)
      : composites(of_composites), members(of_members), group(in_group), keeps(kept_members) {}

  Extent member(std::uint64_t composite, std::uint64_t number) const {
    Extent e;
    e.composite = CompositeId{composite + 1};
    e.offset = number * member_bytes;
    e.group_offset = number / group * group * member_bytes;
    e.group_length = group * member_bytes;
    e.length = member_bytes;
    return e;
  }
  void touch(std::uint64_t composite, std::uint64_t number) {
    const Extent extent = member(composite, number);
    const std::uint64_t all = members * member_bytes;
    const bool here = places.contains(key(composite, number));
    const ReadAhead::Advice advice =
        ahead.touch(1, extent, here ? Found::in_memory : Found::absent, all, 0, ahead.asks());
    ++touches;
    if (here) {
      bring(composite, number, number + 1);
      return;
    }
    ++requests;
    std::uint64_t from = number, to = number + 1;
    if (advice.scope == Scope::group && reads_ahead) {
      from = number / group * group;
      to = from + group;
    }
    if (advice.scope == Scope::composite && reads_ahead) {
      from = 0;
      to = members;
    }
    bytes += (to - from) * member_bytes;
    bring(composite, from, to);
    bring(composite, number, number + 1);
    if (advice.scope != Scope::member) ahead.asked(extent.composite);
  }
  void bring(std::uint64_t composite, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t n = from; n < to; ++n) {
      const std::uint64_t k = key(composite, n);
      if (const auto it = places.find(k); it != places.end()) order.erase(it->second);
      places[k] = order.insert(order.end(), k);
    }
    for (; order.size() > keeps; order.pop_front()) places.erase(order.front());
  }
  std::uint64_t key(std::uint64_t composite, std::uint64_t number) const {
    return composite * members + number;
  }

  const std::uint64_t composites, members, group, keeps;
  std::uint64_t member_bytes = 2560;
  bool reads_ahead = true;  // else each member alone, whatever the advice
  ReadAhead ahead;
  std::list<std::uint64_t> order;  // the next to go first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places;
  std::uint64_t touches = 0, requests = 0, bytes = 0;
};

void come_at_random(PressedMemory& memory, std::uint64_t touches) {
  std::mt19937_64 random(7);
  for (std::uint64_t i = 0; i < touches; ++i)
    memory.touch(random() % memory.composites, random() % memory.members);
}

void measure_disk_with_arm(ReadAhead& ahead) { ahead.measured({4096, 9'000'000}, {512u << 10, 13'000'000}); }
void measure_fast_disk(ReadAhead& ahead) { ahead.measured({4096, 60'000}, {512u << 10, 600'000}); }

}  // namespace

TEST_CASE("what memory does not keep is not read ahead again and again") {
  constexpr std::uint64_t kComposites = 70, kMembers = 1600, kTouches = 60'000;
  for (const bool arm : {true, false}) {
    for (const std::uint64_t keeps : {20u, 35u, 60u}) {
      INFO((arm ? "a disk with an arm" : "a fast disk") << ", memory for " << keeps << " of " << kComposites);
      PressedMemory memory(kComposites, kMembers, kMembers, keeps * kMembers);  // one directory
      arm ? measure_disk_with_arm(memory.ahead) : measure_fast_disk(memory.ahead);
      come_at_random(memory, kTouches);
      PressedMemory alone(kComposites, kMembers, kMembers, keeps * kMembers);
      alone.reads_ahead = false;
      come_at_random(alone, kTouches);
      CHECK(memory.requests < alone.requests + alone.requests / 20);
      // Before anybody doubted: 17 to 34 GB, and 2 to 7.
      CHECK(memory.bytes < kTouches * (arm ? 192u << 10 : 32u << 10));
    }
  }
}

TEST_CASE("who goes through more than memory keeps is read ahead of each time") {
  PressedMemory memory(70, 40, 40, 20 * 40);
  memory.member_bytes = 100'000;  // to ask for one costs as much as its bytes
  measure_fast_disk(memory.ahead);
  std::uint64_t first = 0;
  for (int turn = 0; turn < 4; ++turn) {
    const std::uint64_t before = memory.requests;
    for (std::uint64_t c = 0; c < memory.composites; ++c) {
      for (std::uint64_t m = 0; m < memory.members; ++m) memory.touch(c, m);
    }
    if (turn == 0) first = memory.requests;
    CHECK(memory.requests - before < first + first / 2);
  }
  CHECK(first < memory.composites * memory.members / 4);
}

TEST_CASE("what memory keeps is read ahead as ever") {
  for (const bool arm : {true, false}) {
    PressedMemory memory(70, 1600, 1600, 70 * 1600);
    arm ? measure_disk_with_arm(memory.ahead) : measure_fast_disk(memory.ahead);
    come_at_random(memory, 60'000);
    CHECK(memory.requests < (arm ? 1'000u : 12'000u));
    CHECK(memory.bytes < (arm ? 2u : 3u) * 70 * 1600 * memory.member_bytes);
  }
}

}  // namespace cffs
