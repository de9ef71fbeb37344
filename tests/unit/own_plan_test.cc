// What a store makes of its own access record.
#include "core/reorganise/own_plan.h"

#include <catch2/catch.hpp>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "grouping/frequency_policy.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/manual_clock.h"

namespace cffs::test {
namespace {

// Pairs of files in two directories, each used by sessions of their own; of each pair the second is larger.
struct Recorded {
  static constexpr int kPairs = 5, kSessions = 6;
  static constexpr std::size_t kFirst = 2000, kSecond = 200'000;

  Recorded() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    FileSystemOptions options = quiet();
    options.access_record_bytes = 1 << 20;
    options.clock = clock;
    options.policy = std::make_shared<grouping::FrequencyPolicy>();
    auto opened = FileSystem::open(objects, options);
    REQUIRE(opened);
    fs = std::move(*opened);
    const InodeId a = directory("a"), b = directory("b");
    for (int i = 0; i < kPairs; ++i) {
      first.push_back(file(a, std::to_string(i), kFirst));
      second.push_back(file(b, std::to_string(i), kSecond));
    }
    clock->pass_ms(100'000);
    REQUIRE(Reorganiser(*fs).consolidate_now());
    for (int session = 0; session < kSessions; ++session) {
      for (int i = 0; i < kPairs; ++i) {
        clock->pass_ms(10'000);
        fs->note_access(first[static_cast<std::size_t>(i)], 1);
        if (session % 2 == 0) fs->note_access(second[static_cast<std::size_t>(i)], 1);
      }
    }
  }
  InodeId directory(const std::string& name) {
    const auto made = fs->mkdir(kRootInode, name, 0755, kRoot);
    REQUIRE(made);
    return made->ino;
  }
  InodeId file(InodeId in, const std::string& name, std::size_t size) {
    const auto made = fs->mknod(in, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(size, 'x')), kRoot));
    return made->ino;
  }
  OwnPlan mine(bool always, std::uint64_t exchange_bytes) {
    auto own = mine_own_accesses(*fs, always, exchange_bytes);
    REQUIRE(own);
    return *own;
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::vector<InodeId> first, second;
};

}  // namespace

TEST_CASE("a store mines its own record: by frequent sets, or by what groups save on its medium") {
  Recorded s;
  const OwnPlan frequent = s.mine(true, 0);
  REQUIRE(frequent.accesses == Recorded::kPairs * (Recorded::kSessions + Recorded::kSessions / 2));
  REQUIRE(frequent.groups);
  REQUIRE(frequent.groups->size() == Recorded::kPairs);
  // Half of the sessions want both: a request is saved there, 200 KB are wasted in the others.
  const OwnPlan far = s.mine(true, 1'000'000);
  REQUIRE(far.groups);
  REQUIRE(far.groups->size() == Recorded::kPairs);
  REQUIRE(far.reads_then < far.reads_now);
  REQUIRE(!s.mine(true, 40'000).groups);
}

TEST_CASE("what is moved has to pay on the medium") {
  Recorded s;
  // A read is saved in three sessions for each pair; a million bytes have to be copied.
  const OwnPlan all = s.mine(true, 1'000'000);
  REQUIRE(all.bytes_to_move == Recorded::kPairs * (Recorded::kFirst + Recorded::kSecond));
  REQUIRE(all.reads_now - all.reads_then == Recorded::kPairs * Recorded::kSessions / 2);
  REQUIRE(s.mine(false, 1'000'000).groups);
  REQUIRE(s.mine(false, 0).groups);
}

TEST_CASE("a plan made anew keeps what the one before said of other files") {
  Recorded s;
  auto before = std::make_shared<grouping::PlanGroups>();
  before->set_rest_bytes(0);
  before->set_table_bytes(Recorded::kFirst);
  s.fs->set_policy(std::make_shared<grouping::FrequencyPolicy>(before));
  const OwnPlan none = s.mine(true, 0);
  REQUIRE(!none.groups);  // the first of each pair stays in the table
  before = std::make_shared<grouping::PlanGroups>();
  before->set_rest_bytes(0);
  before->set_table_bytes(1);
  s.fs->set_policy(std::make_shared<grouping::FrequencyPolicy>(before));
  const OwnPlan again = s.mine(true, 0);
  REQUIRE(again.groups);
  REQUIRE(again.groups->rest_bytes() == std::optional<std::uint64_t>(0));
  REQUIRE(again.groups->table_bytes() == 1);
}

}  // namespace cffs::test
