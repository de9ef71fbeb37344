// What is read with a member, by what readers wanted before.
#include "core/composite/read_ahead.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

namespace cffs {
namespace {

using Scope = ReadAhead::Scope;
using Found = ReadAhead::Found;

constexpr std::uint64_t kMember = 16u << 10, kMembers = 20, kGroups = 12;
constexpr std::uint64_t kGroup = kMember * kMembers, kComposite = kGroup * kGroups;

Extent extent(std::uint64_t composite, std::uint64_t group, std::uint64_t member) {
  Extent e;
  e.composite = CompositeId{composite};
  e.group_offset = group * kGroup;
  e.group_length = kGroup;
  e.offset = e.group_offset + member * kMember;
  e.length = kMember;
  return e;
}

// A disk and the memory above it: what was read is in memory.
struct Readers {
  ReadAhead ahead;
  std::uint64_t requests = 0, bytes = 0, clock = 0;
  std::unordered_map<std::uint64_t, std::vector<bool>> memory;
  int next = 0;
  unsigned more = 0;

  double planned = 0;  // share of each group

  Scope touch(std::uint64_t composite, std::uint64_t group, std::uint64_t member, ReaderId reader = 1) {
    const Extent e = extent(composite, group, member);
    std::vector<bool>& there = memory[composite];
    there.resize(kGroups * kMembers);
    const std::uint64_t at = group * kMembers + member;
    const bool cold = !there[at];
    const ReadAhead::Advice advice = ahead.touch(reader, e, cold ? Found::absent : Found::in_memory,
                                                 cold ? kComposite : 0, cold ? planned : 0);
    if (advice.scope != Scope::member) ahead.asked(e.composite);
    if (advice.next != 0) next = advice.next;
    more = advice.ahead;
    if (!cold) return Scope::member;
    const std::uint64_t first = advice.scope == Scope::composite ? 0
                                : advice.scope == Scope::group   ? group * kMembers
                                                                 : at;
    const std::uint64_t count = advice.scope == Scope::composite ? there.size()
                                : advice.scope == Scope::group   ? kMembers
                                                                 : 1;
    ++requests;
    clock += 64'000 + count * kMember / 2;  // a request is worth 128 KB
    ahead.took(count * kMember, 0, clock - 64'000 - count * kMember / 2, clock);
    for (std::uint64_t i = first; i < first + count; ++i) {
      bytes += there[i] ? 0 : kMember;
      there[i] = true;
    }
    return advice.scope;
  }
};

}  // namespace

TEST_CASE("a first touch brings its member alone, a second one soon after it the group") {
  Readers readers;
  CHECK(readers.touch(7, 3, 11) == Scope::member);
  CHECK(readers.touch(7, 3, 2) == Scope::group);
  CHECK(readers.requests == 2);
  for (std::uint64_t m = 0; m < kMembers; ++m) readers.touch(7, 3, m);
  CHECK(readers.requests == 2);
}

TEST_CASE("a first touch brings the group where a plan says so, until this reader has shown otherwise") {
  Readers readers;
  readers.planned = 0.9;
  CHECK(readers.touch(7, 3, 11) == Scope::group);
  CHECK(readers.requests == 1);
  // One that wants single files, whatever was mined from others: it pays for a few groups and no more.
  std::uint64_t groups = 0;
  for (std::uint64_t n = 0; n < 40; ++n)
    groups += readers.touch(100 + n, n % kGroups, 5, 2) == Scope::group ? 1 : 0;
  CHECK(groups >= 1);
  CHECK(groups <= 8);
  // What is hardly ever wanted whole is not brought for a plan's sake.
  Readers others;
  others.planned = 0.08;  // a member is 1/20
  CHECK(others.touch(7, 3, 11) == Scope::member);
  others.planned = 1.0 / kMembers;
  CHECK(others.touch(8, 3, 11) == Scope::member);
}

TEST_CASE("who wanted groups whole gets the next one at once") {
  Readers readers;
  for (std::uint64_t g = 0; g < 3; ++g) {
    for (std::uint64_t m = 0; m < kMembers; ++m) readers.touch(100 + g, 5, m);
  }
  CHECK(readers.touch(200, 0, 4) == Scope::group);
}

TEST_CASE("a random reader gets what it asks for, one request each") {
  Readers readers;
  std::mt19937_64 random(1);
  constexpr std::uint64_t kComposites = 500, kTouches = 2000;
  for (std::uint64_t i = 0; i < kTouches; ++i)
    readers.touch(1 + random() % kComposites, random() % kGroups, random() % kMembers);
  CHECK(readers.bytes < kTouches * kMember * 11 / 10);
}

TEST_CASE("a sweep takes few requests for a composite; forwards and backwards the next one is known") {
  for (const int step : {1, -1}) {
    Readers readers;
    for (std::uint64_t c = 0; c < 20; ++c) {
      const std::uint64_t composite = step > 0 ? 1000 + 10 * c : 1000 - 10 * c;
      for (std::uint64_t g = 0; g < kGroups; ++g) {
        for (std::uint64_t m = 0; m < kMembers; ++m) readers.touch(composite, g, (m * 7) % kMembers);
      }
    }
    CHECK(readers.requests < 5 * kGroups + 20);  // by groups until five composites were wanted whole
    CHECK(readers.next == step);
    const ReadAheadCounters counters = readers.ahead.counters();
    CHECK(counters.used <= counters.asked);
    CHECK(counters.used >= counters.asked * 9 / 10);
  }
}

TEST_CASE(
    "ahead of a sweep that goes on several composites are read, also of those that it finds in memory") {
  // One process for all of it, or one for fifty files each.
  const std::uint64_t files_each = GENERATE(1'000'000u, 50u);
  Readers readers;
  std::uint64_t absent = 0, touches = 0;
  ReaderId reader = 1;
  std::size_t most = 0;
  std::set<std::uint64_t> ahead;
  for (std::uint64_t c = 1; c <= 40; ++c) {
    ahead.erase(c);
    for (std::uint64_t at = 0; at < kGroups * kMembers; ++at) {
      const bool brought = c > 10 && !readers.memory[c].empty();
      if (at == 0 && c > 15) absent += brought ? 0 : 1;
      if (++touches % files_each == 0) ++reader;
      (void)readers.touch(c, at / kMembers, at % kMembers, reader);
      std::uint64_t next = c;
      Lead::walk(readers.more, [&]() -> std::optional<bool> {
        if (!readers.ahead.take_whole(CompositeId{++next}, kComposite, reader)) return false;
        readers.memory[next].assign(kGroups * kMembers, true);
        readers.ahead.asked(CompositeId{next});
        ahead.insert(next);
        return true;
      });
      most = std::max(most, ahead.size());
    }
  }
  CHECK(absent == 0);
  CHECK(most == Lead::kMost);
}

TEST_CASE("groups in any order of composites are read whole, and no more than them") {
  Readers readers;
  std::mt19937_64 random(2);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> groups;
  for (std::uint64_t c = 1; c <= 100; ++c) {
    for (std::uint64_t g = 0; g < kGroups; ++g) groups.emplace_back(c, g);
  }
  std::shuffle(groups.begin(), groups.end(), random);
  groups.resize(groups.size() / 10);
  for (const auto& [composite, group] : groups) {
    for (std::uint64_t m = 0; m < kMembers; ++m) readers.touch(composite, group, m);
  }
  CHECK(readers.requests < groups.size() + 5);
  CHECK(readers.bytes < groups.size() * kGroup * 11 / 10);
}

TEST_CASE("a composite that readers keep coming back to is read to its end, for a few times the least") {
  Readers readers;
  std::mt19937_64 random(3);
  // Among many others, so that no touch is soon after another, and nobody remembers to have been here.
  std::uint64_t wide = 0, requests = 0, bytes = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t before = readers.requests, bytes_before = readers.bytes;
    wide += readers.touch(1, random() % kGroups, random() % kMembers) == Scope::composite;
    requests += readers.requests - before;
    bytes += readers.bytes - bytes_before;
    for (std::uint64_t other = 0; other < 9; ++other) {
      Extent elsewhere = extent(10'000 + i * 9 + other, random() % kGroups, 0);
      readers.ahead.touch(1, elsewhere, Found::in_memory, kComposite);
    }
  }
  CHECK(wide == 1);
  const std::uint64_t worth = readers.ahead.counters().break_even;
  CHECK(bytes == kComposite);
  CHECK(requests * worth + bytes < 5 * kComposite);
}

TEST_CASE(
    "where an arm moves a composite is read whole after half of what it costs, as long as that saves "
    "anything") {
  const auto hard_disk = [](ReadAhead& ahead) {
    ahead.measured({16u << 10, 7'000'000}, {512u << 10, 11'000'000});
  };
  // How many touches of single groups it takes, each time by another reader.
  std::uint64_t reader = 0;
  const auto touches_until_whole = [&](ReadAhead& ahead, std::uint64_t composite) {
    for (std::uint64_t n = 1; n <= kGroups; ++n) {
      const auto advice = ahead.touch(++reader, extent(composite, n - 1, 3), Found::absent, kComposite);
      if (advice.scope != Scope::member) ahead.asked(CompositeId{composite});
      if (advice.scope == Scope::composite) return n;
    }
    return kGroups + 1;
  };
  ReadAhead ahead;
  hard_disk(ahead);
  const std::uint64_t at_first = touches_until_whole(ahead, 7);
  CHECK(at_first <= 4);
  // Composites that nobody comes back to: more is paid before the next one.
  std::uint64_t composite = 8;
  for (; composite < 20; ++composite) (void)touches_until_whole(ahead, composite);
  CHECK(touches_until_whole(ahead, composite) > at_first + 1);
  // And those that many come back to.
  ReadAhead used;
  hard_disk(used);
  for (composite = 8; composite < 20; ++composite) {
    (void)touches_until_whole(used, composite);
    for (std::uint64_t m = 0; m < kMembers; ++m)
      (void)used.touch(++reader, extent(composite, 5, m), Found::in_memory, kComposite);
  }
  CHECK(touches_until_whole(used, composite) == at_first);
}

TEST_CASE("processes for a file each are one reader, as long as they stay in a composite") {
  Readers readers;
  ReaderId process = 1000;
  for (std::uint64_t g = 0; g < 5; ++g) {
    for (std::uint64_t m = 0; m < kMembers; ++m) readers.touch(50 + g, 1, m, process++);
  }
  CHECK(readers.requests <= 5 * 2);
}

TEST_CASE("two readers, one random and one that sweeps, are told apart") {
  Readers readers;
  std::mt19937_64 random(4);
  std::uint64_t composite = 1, group = 0, member = 0;
  std::uint64_t wide = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    readers.touch(composite, group, member, 1);
    if (++member == kMembers) {
      member = 0;
      if (++group == kGroups) {
        group = 0;
        ++composite;
      }
    }
    wide += readers.touch(100'000 + random() % 50'000, random() % kGroups, random() % kMembers, 2) !=
            Scope::member;
  }
  CHECK(wide < 20);
}

TEST_CASE("groups of one member say nothing of others") {
  ReadAhead ahead;
  for (std::uint64_t i = 0; i < 50; ++i) {
    Extent lonely = extent(i + 1, 0, 0);
    lonely.group_length = lonely.length;
    CHECK(ahead.touch(1, lonely, Found::absent, kComposite).scope == Scope::member);
  }
  CHECK(ahead.touch(1, extent(99, 0, 0), Found::absent, kComposite).scope == Scope::member);
}

TEST_CASE("what is read ahead and used is counted") {
  ReadAhead ahead;
  for (std::uint64_t m = 0; m < kMembers; ++m)
    ahead.touch(1, extent(5, 0, m), m < 2 ? Found::absent : Found::in_memory, kComposite);
  const ReadAheadCounters once = ahead.counters();
  CHECK(once.asked == kGroup - 2 * kMember);
  CHECK(once.used == kGroup - 2 * kMember);
  for (std::uint64_t m = 0; m < kMembers; ++m) ahead.touch(1, extent(5, 0, m), Found::in_memory, 0);
  CHECK(ahead.counters().used <= ahead.counters().asked);
}

TEST_CASE("what is on its way is no reason to ask again") {
  ReadAhead ahead;
  for (std::uint64_t m = 0; m < 2; ++m) ahead.touch(1, extent(5, 0, m), Found::absent, kComposite);
  const std::uint64_t asked = ahead.counters().asked;
  for (std::uint64_t m = 2; m < kMembers; ++m)
    CHECK(ahead.touch(1, extent(5, 0, m), Found::on_its_way, kComposite).scope == Scope::member);
  CHECK(ahead.counters().asked == asked);
  CHECK(ahead.counters().used == asked);
}

TEST_CASE("after caches were dropped a sweep is read as widely as before") {
  Readers readers;
  const auto sweep = [&] {
    const std::uint64_t before = readers.requests;
    for (std::uint64_t c = 1; c <= 40; ++c) {
      for (std::uint64_t at = 0; at < kGroups * kMembers; ++at)
        readers.touch(c, at / kMembers, at % kMembers);
    }
    return readers.requests - before;
  };
  sweep();
  readers.memory.clear();
  CHECK(sweep() < 40 * 4);
  readers.memory.clear();
  CHECK(sweep() < 40 * 4);
}

TEST_CASE("a process that reads one file is not lent another's habits") {
  Readers readers;
  std::mt19937_64 random(6);
  std::uint64_t wide = 0;
  for (std::uint64_t i = 0; i < 40 * kGroups * kMembers; ++i) {
    readers.touch(1 + i / (kGroups * kMembers), i / kMembers % kGroups, i % kMembers, 1);
    if (i % 3 == 0)
      wide += readers.touch(100'000 + random() % 50'000, random() % kGroups, random() % kMembers, 1000 + i) !=
              Scope::member;
  }
  CHECK(wide <= 8);  // to learn what bytes cost
}

TEST_CASE("a next composite that was not wanted is not guessed again at once") {
  ReadAhead ahead;
  std::uint64_t guesses = 0;
  for (std::uint64_t c = 1; c <= 60; ++c) {
    for (std::uint64_t at = 0; at < kGroups * kMembers; ++at) {
      const auto advice = ahead.touch(1, extent(c * 20, at / kMembers, at % kMembers),
                                      at == 0 ? Found::absent : Found::in_memory, kComposite);
      if (advice.next != 0) {
        ++guesses;
        ahead.take_whole(CompositeId{c * 20 + 10}, kComposite, 1);  // every other one is wanted
      }
    }
  }
  CHECK(guesses > 0);
  CHECK(guesses < 60 / 5);
}

TEST_CASE("what was read whole is remembered beside hundreds of others") {
  ReadAhead ahead;
  std::mt19937_64 random(7);
  std::set<std::uint64_t> composites;
  while (composites.size() < 300) composites.insert(random() % 10'000'000);
  for (const std::uint64_t c : composites)
    REQUIRE(ahead.take_whole(CompositeId{c}, kComposite, /*reader=*/0));
  CHECK(std::all_of(composites.begin(), composites.end(),
                    [&](std::uint64_t c) { return ahead.is_whole(CompositeId{c}); }));
}

TEST_CASE("what a request is worth follows from how long small and large reads take") {
  struct Medium {
    std::uint64_t request_ns, bytes_per_ms, least, most;
  };
  // A hard disk, a cloud volume, a fast disk.
  for (const Medium& medium :
       {Medium{6'700'000, 130'000, 700'000, 1u << 20}, Medium{500'000, 125'000, 50'000, 80'000},
        Medium{60'000, 2'000'000, 100'000, 140'000}}) {
    ReadAhead ahead;
    std::mt19937_64 random(5);
    std::uint64_t clock = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t bytes = i % 50 == 0 ? 512u << 10 : 4096 * (1 + random() % 16);
      const std::uint64_t exact = medium.request_ns + bytes * 1'000'000 / medium.bytes_per_ms;
      const std::uint64_t stall = i % 100 == 99 ? 50 : 1;  // now and then somebody else is served first
      const std::uint64_t time = stall * exact * (90 + random() % 21) / 100;
      ahead.took(bytes, 0, clock, clock + time);
      ahead.took(bytes, 0, clock + time / 2, clock + time * 10);  // beside it: it waits, and says nothing
      clock += time * 10;
    }
    CHECK(ahead.counters().break_even >= medium.least * 7 / 10);
    CHECK(ahead.counters().break_even <= medium.most * 14 / 10);
  }
}

TEST_CASE("who waits beside others reads less ahead, but where an arm moves for one after the other") {
  const auto worth_for = [](std::uint64_t request_ns, std::uint64_t ns_a_kb, int waiting) {
    ReadAhead ahead;
    ahead.measured({16u << 10, request_ns + 16 * ns_a_kb}, {1u << 20, request_ns + 1024 * ns_a_kb});
    std::vector<std::unique_ptr<ReadAhead::Wait>> others;
    for (int i = 0; i < waiting; ++i) others.push_back(std::make_unique<ReadAhead::Wait>(ahead));
    for (std::uint64_t i = 0; i < 100; ++i) {
      (void)ahead.touch(1, extent(1 + i, 0, 0), Found::absent, 0);
    }
    return ahead.counters().break_even;
  };
  const std::uint64_t cloud = worth_for(500'000, 7'500, 1);
  REQUIRE(cloud > 60'000);
  REQUIRE(worth_for(500'000, 7'500, 0) == cloud);
  const std::uint64_t beside_three = worth_for(500'000, 7'500, 4);
  REQUIRE(beside_three * 4 > cloud - cloud / 20);
  REQUIRE(beside_three * 4 < cloud + cloud / 20);
  REQUIRE(worth_for(8'000'000, 8'000, 1) >= (1u << 20));
  REQUIRE(worth_for(8'000'000, 8'000, 4) == worth_for(8'000'000, 8'000, 1));
  // Measured while others keep the arm from it.
  REQUIRE(worth_for(5'000'000, 30'000, 4) == (1u << 20));
  // Far away, and slow with bytes.
  REQUIRE(worth_for(10'000'000, 100'000, 1) < (110u << 10));
}

TEST_CASE("who comes twice to a large directory by chance learns that it says nothing") {
  // Each composite is one group: a large directory. A reader at random comes to one twice in a row now and then.
  constexpr std::uint64_t kComposites = 60;
  const auto directory = [](std::uint64_t composite, std::uint64_t member) {
    Extent e = extent(composite, 0, member);
    e.group_length = kComposite;
    return e;
  };
  Readers readers;
  std::mt19937_64 random(11);
  int second = 0, wide = 0;
  std::uint64_t before = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t composite = 1 + random() % kComposites;
    second += composite == before;
    before = composite;
    // None is ever in memory, so that each composite goes on being come to; the account of what was paid is not what is tried.
    wide +=
        readers.ahead
            .touch(1,
                   directory(composite + kComposites * static_cast<std::uint64_t>(i / 100), random() % 240),
                   Found::absent, 0)
            .scope != Scope::member;
  }
  CHECK(second > 30);
  CHECK(wide < 8);
  // And unlearns it where it does say something: directories that are read from end to end.
  int learnt = 0;
  for (std::uint64_t composite = 100'000; composite < 100'012; ++composite) {
    bool there = false;
    for (std::uint64_t member = 0; member < 240; ++member) {
      const auto advice =
          readers.ahead.touch(1, directory(composite, member), there ? Found::in_memory : Found::absent, 0);
      if (advice.scope != Scope::member) {
        readers.ahead.asked(CompositeId{composite});
        there = true;
        if (composite >= 100'004 && member <= 1) ++learnt;
      }
    }
  }
  CHECK(learnt == 8);
}

TEST_CASE("one small file at random does not bring thousands, small or large") {
  ReadAhead ahead;
  std::mt19937_64 random(8);
  std::uint64_t wide = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Extent e = extent(1 + random() % 35, random() % kGroups, random() % kMembers);
    if (i % 4 == 0) e.length = 200;  // the others have 16 KB
    e.group_length = kMember;        // nothing to be curious about
    e.group_offset = e.offset;
    wide += ahead.touch(1, e, Found::absent, kComposite).scope == Scope::composite;
  }
  CHECK(wide == 0);
}

TEST_CASE("who only makes small requests learns what bytes cost by a few larger ones") {
  ReadAhead ahead;
  std::mt19937_64 random(7);
  std::uint64_t wide = 0, clock = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Extent e = extent(1 + random() % 5000, random() % kGroups, random() % kMembers);
    const bool group = ahead.touch(1, e, Found::absent, kComposite).scope == Scope::group;
    if (group) ahead.asked(e.composite);
    const std::uint64_t bytes = group ? kGroup : kMember;
    ahead.took(bytes, 0, clock, clock + 500'000 + bytes * 8);
    clock += 500'000 + bytes * 8;
    wide += group;
  }
  CHECK(wide >= 4);
  CHECK(wide < 20);
  CHECK(ahead.counters().break_even > 40'000);
  CHECK(ahead.counters().break_even < 80'000);
}

TEST_CASE("reads of one size say nothing of what a request is worth") {
  ReadAhead ahead;
  const std::uint64_t usual = ahead.counters().break_even;
  for (std::uint64_t i = 0; i < 1000; ++i) ahead.took(16384, 0, i * 80'000, (i + 1) * 80'000);
  CHECK(ahead.counters().break_even == usual);
}

}  // namespace cffs
