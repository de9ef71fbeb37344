// All sequences of up to three calls, crashed at every operation of the store below, and again while they recover; how it works
// is in docs/TESTING.md, "The crash explorer".
//   CFFS_CRASH_STATE=n      this state alone
//   CFFS_CRASH_WORKLOADS=k  so many sequences, evenly from all; "all": every one, and every way of crashing
#include "tests/crash/explorer.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

namespace cffs::test {
namespace {

struct Tally {
  std::uint64_t workloads = 0, table_work = 0, problems = 0, faults = 0;
};

// The cut is survived, or the test fails with the number that replays it.
template <typename Ground>
void check(ExplorerOn<Ground>& explorer, const RecordingOn<Ground>& recording, const CrashState& state,
           Tally& tally) {
  const auto problem = explorer.find_problem(recording, state.cut, state.variant);
  if (!problem) return;
  ++tally.problems;
  const auto& cut = recording.cuts[state.cut];
  FAIL_CHECK("CFFS_CRASH_STATE=" << state.number() << " (" << Workload(state.workload).name() << "; after "
                                 << cut.calls << " calls, before " << cut.before << "; "
                                 << recording.failure.value_or("no fault") << "): " << *problem);
  if (tally.problems > 20) FAIL("too many problems");
}

// Each cut in `ways` of its ways.
template <typename Ground>
void explore(ExplorerOn<Ground>& explorer, std::uint64_t number, std::uint64_t ways, Tally& tally) {
  const Workload workload(number);
  const auto recording = explorer.record(workload);
  ++tally.workloads;
  tally.table_work += recording.table_work;
  INFO(workload.name());
  if (recording.problem) FAIL("workload " << number << " without a crash: " << *recording.problem);
  const std::uint64_t cuts = std::min<std::uint64_t>(recording.cuts.size(), CrashState::kCuts);
  for (std::uint64_t cut = 0; cut < cuts; ++cut) {
    for (std::uint64_t way = 0; way < ways; ++way) {
      const bool all = ways == CrashState::kVariants;
      const std::uint64_t variant = all ? way : (number * 5 + cut * 11 + way * 17) % CrashState::kVariants;
      check(explorer, recording, {number, 0, cut, variant}, tally);
    }
  }
}

// Each sync of it fails and loses what it was for, each write is torn, and the power is cut at the end.
template <typename Ground>
void explore_faults(ExplorerOn<Ground>& explorer, std::uint64_t number, std::uint64_t ways, Tally& tally) {
  for (std::uint64_t fault = 1; fault < CrashState::kFaults; ++fault) {
    const auto recording = explorer.record(Workload(number), fault);
    INFO(Workload(number).name() << ", fault " << fault);
    if (recording.problem) FAIL("with a fault and no crash: " << *recording.problem);
    if (!recording.failure) continue;
    ++tally.faults;
    for (std::uint64_t way = 0; way < ways; ++way) {
      check(explorer, recording, {number, fault, 0, (number + fault + way * 16) % CrashState::kVariants},
            tally);
    }
  }
}

std::uint64_t nth_of(std::uint64_t i, std::uint64_t count) {
  const std::uint64_t all = CrashState::workloads(), sequences = all / Workload::kBeginnings;
  if (count >= all) return i;
  const std::uint64_t sequence =
      (i * 2 + 1) * std::max<std::uint64_t>(1, sequences / (2 * count)) % sequences;
  return sequence * Workload::kBeginnings + i % Workload::kBeginnings;
}

// How many workloads: what is asked for, or this.
std::uint64_t wanted(std::uint64_t usual) {
  const char* count = std::getenv("CFFS_CRASH_WORKLOADS");
  if (count == nullptr) return usual;
  return std::string(count) == "all" ? CrashState::workloads() : std::strtoull(count, nullptr, 10);
}

template <typename Ground>
void show_progress(const ExplorerOn<Ground>& explorer, std::uint64_t i, std::uint64_t count,
                   const Tally& tally) {
  if (std::getenv("CFFS_CRASH_WORKLOADS") == nullptr || i % 100 != 99) return;
  std::cerr << i + 1 << " of " << count << " workloads, " << explorer.checked() << " states, "
            << tally.problems << " problems\n";
}

bool replays_one() { return std::getenv("CFFS_CRASH_STATE") != nullptr; }

}  // namespace

TEST_CASE("one state of the explorer, by its number", "[explorer]") {
  if (!replays_one()) return;
  Explorer explorer;
  const CrashState state = CrashState::of(std::strtoull(std::getenv("CFFS_CRASH_STATE"), nullptr, 10));
  const Recording recording = explorer.record(Workload(state.workload), state.fault);
  REQUIRE(!recording.problem);
  REQUIRE(state.cut < recording.cuts.size());
  Tally tally;
  check(explorer, recording, state, tally);
}

TEST_CASE("a number of the explorer leads to the same each time", "[explorer]") {
  Explorer explorer;
  for (const std::uint64_t i : {3u, 20u, 33u}) {
    const Workload workload(nth_of(i, 40));
    INFO(workload.name());
    const Recording once = explorer.record(workload), again = explorer.record(workload);
    REQUIRE(once.cuts.size() == again.cuts.size());
    for (std::size_t cut = 0; cut < once.cuts.size(); ++cut) {
      INFO("cut " << cut);
      REQUIRE(once.cuts[cut].before == again.cuts[cut].before);
      REQUIRE(once.cuts[cut].medium.cut(cut).fingerprint() == again.cuts[cut].medium.cut(cut).fingerprint());
    }
  }
}

TEST_CASE("crashes at every operation of every short workload", "[explorer]") {
  if (replays_one()) return;
  Explorer explorer;
  Tally tally;
  const std::uint64_t count = wanted(160);
  const bool everything = count >= CrashState::workloads();
  for (std::uint64_t i = 0; i < count; ++i) {
    explore(explorer, nth_of(i, count), everything ? CrashState::kVariants : 1, tally);
    show_progress(explorer, i, count, tally);
  }
  UNSCOPED_INFO(explorer.checked() << " states, " << tally.table_work << " pieces of LevelDB's work, "
                                   << explorer.recoveries_cut() << " recoveries cut");
  CHECK(explorer.checked() > count);
  CHECK(tally.table_work > count / 2);  // logs are rotated, tables written and merged
  CHECK(explorer.recoveries_cut() > explorer.checked() / 4);
}

// What was made durable is, whatever it was; and what it takes to meet some orders of the engine. Each cut in several ways.
TEST_CASE("crashes of sequences that a sample would hardly have", "[explorer]") {
  if (replays_one()) return;
  Explorer explorer;
  Tally tally;
  for (const Call& call : calls()) {
    if (call.kind != Call::Kind::change) continue;
    for (const char* sync : {"sync", "fsync c"})
      explore(explorer, Workload::number_of(0, {call.name, sync}), 4,
              tally);  // the fewest of which one is a cut
  }
  for (const std::vector<std::string>& sequence : {
           std::vector<std::string>{"cut c", "consolidate",
                                    "extend c"},  // a large file leaves, and is large again
           std::vector<std::string>{"consolidate", "overwrite c in two sectors", "sync"},  // it is sealed
           std::vector<std::string>{"overwrite c in two sectors", "consolidate", "append to c"},
           std::vector<std::string>{"append to c", "rename c over a", "fsync a"},
           std::vector<std::string>{"unlink c", "sync", "close and open"},
       }) {
    for (const std::uint64_t beginning : {0u, 3u}) {
      explore(explorer, Workload::number_of(beginning, sequence), 5, tally);
    }
  }
}

TEST_CASE("a failed sync or a torn write, then a crash", "[explorer]") {
  if (replays_one()) return;
  Explorer explorer;
  Tally tally;
  const std::uint64_t count = wanted(30);
  for (std::uint64_t i = 0; i < count; ++i) {
    explore_faults(explorer, nth_of(i, count), 2, tally);
    show_progress(explorer, i, count, tally);
  }
  CHECK(tally.faults > count);
}

// Few of all sequences ask again after a sync that failed, and say that all is well.
TEST_CASE("a sync that fails is not forgotten by the next", "[explorer]") {
  if (replays_one()) return;
  Explorer explorer;
  Tally tally;
  for (const char* change : {"overwrite c in two sectors", "append to c", "write a, which becomes large"}) {
    const std::string file = std::string_view(change).starts_with("write a") ? "fsync a" : "fsync c";
    for (const std::vector<std::string>& then :
         {std::vector<std::string>{"sync", file}, {file, "sync"}, {file, file}, {"consolidate", file}}) {
      explore_faults(explorer, Workload::number_of(0, {change, then[0], then[1]}), 3, tally);
    }
  }
  CHECK(tally.faults > 40);
}

// The same of other grounds, whose states have variables of their own to be run again by. True: one was.
template <typename Ground>
bool replayed(const char* variable) {
  const char* const one = std::getenv(variable);
  if (one == nullptr) return false;
  ExplorerOn<Ground> explorer;
  Tally tally;
  const CrashState state = CrashState::of(std::strtoull(one, nullptr, 10));
  const auto recording = explorer.record(Workload(state.workload), state.fault);
  REQUIRE(!recording.problem);
  REQUIRE(state.cut < recording.cuts.size());
  check(explorer, recording, state, tally);
  return true;
}

template <typename Ground>
void explore_some(std::uint64_t usual, const std::vector<std::vector<std::string>>& also) {
  ExplorerOn<Ground> explorer;
  Tally tally;
  const std::uint64_t count = wanted(usual);
  for (std::uint64_t i = 0; i < count; ++i) {
    explore(explorer, nth_of(i, count), 1, tally);
    show_progress(explorer, i, count, tally);
  }
  for (const auto& sequence : also) explore(explorer, Workload::number_of(0, sequence), 2, tally);
  UNSCOPED_INFO(explorer.checked() << " states, " << explorer.recoveries_cut() << " recoveries cut");
  CHECK(explorer.checked() > count);
  CHECK(explorer.recoveries_cut() > explorer.checked() / 4);
}

template <typename Ground>
void explore_some_faults(std::uint64_t usual) {
  ExplorerOn<Ground> explorer;
  Tally tally;
  const std::uint64_t count = wanted(usual);
  for (std::uint64_t i = 0; i < count; ++i) {
    explore_faults(explorer, nth_of(i, count), 2, tally);
    show_progress(explorer, i, count, tally);
  }
  CHECK(tally.faults > count);
}

const std::vector<std::vector<std::string>> kSynced{
    {"append to c", "fsync c"}, {"cut c", "consolidate", "extend c"}, {"unlink c", "sync", "close and open"}};

// At every write and flush of a device, between sectors. CFFS_CRASH_REGION_STATE=n: one state again.
TEST_CASE("crashes at every write of a device of regions", "[explorer][region]") {
  if (replays_one() || replayed<CrashRegions>("CFFS_CRASH_REGION_STATE")) return;
  explore_some<CrashRegions>(16, kSynced);
}

TEST_CASE("a flush of a device of regions that fails, or a torn write, then a crash", "[explorer][region]") {
  if (replays_one() || std::getenv("CFFS_CRASH_REGION_STATE") != nullptr) return;
  explore_some_faults<CrashRegions>(5);
}

#ifdef CFFS_WITH_RADOS
// At every operation on a pool, with what was not acknowledged there or not. CFFS_CRASH_POOL_STATE=n: one state again.
TEST_CASE("crashes at every operation on a pool", "[explorer][pool]") {
  if (replays_one() || replayed<CrashPool>("CFFS_CRASH_POOL_STATE")) return;
  explore_some<CrashPool>(16, kSynced);
}

TEST_CASE("an operation on a pool that is refused, or answered wrongly, then a crash", "[explorer][pool]") {
  if (replays_one() || std::getenv("CFFS_CRASH_POOL_STATE") != nullptr) return;
  explore_some_faults<CrashPool>(5);
}
#endif

TEST_CASE("a store that is being made is there as a whole, or not", "[explorer]") {
  CrashStore store;
  std::vector<CrashMedium> media;
  store.on_change([&](const std::string&) { media.push_back(store.medium()); });
  REQUIRE(FileSystem::format(store, small_format(), SystemClock()));
  store.on_change(nullptr);
  media.push_back(store.medium());
  for (std::size_t cut = 0; cut < media.size(); ++cut) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      INFO("cut " << cut << " of " << media.size() << ", seed " << seed);
      Session session(media[cut].cut(seed), 0);
      const Status opened = session.open();
      INFO((opened ? "" : opened.error().message()));
      if (cut + 1 == media.size()) REQUIRE(opened);  // it had been said that it is there
      if (!opened) continue;
      REQUIRE(session.surface().create("first", 0600) == 0);
      REQUIRE(session.fs().sync());
    }
  }
}

}  // namespace cffs::test
