// What a store makes of its own access record.
#include "core/reorganise/own_plan.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "core/reorganise/plan_object.h"
#include "core/reorganise/regroup_jobs.h"
#include "core/reorganise/reorganiser.h"
#include "grouping/frequency_policy.h"
#include "tests/manual_clock.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

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

TEST_CASE("what came of a regrouping that was asked for stays told while the record is mined") {
  Recorded s;
  Reorganiser reorganiser(*s.fs);
  RegroupJobsOptions options;
  options.interval_ms = 1;
  RegroupJobs jobs(reorganiser, options);
  REQUIRE(jobs.begin());
  RegroupJobs::Job job;
  job.dry_run = true;
  job.policy = s.fs->policy();
  const auto until = [](const auto& is) {
    bool comes = is();
    for (int i = 0; i < 3000 && !comes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      comes = is();
    }
    REQUIRE(comes);
  };
  until([&] { return jobs.start(job).has_value(); });  // not while it is mining
  const auto status = [&] { return nlohmann::json::parse(jobs.status_json()); };
  until([&] { return status().at("asked").at("state") == "done"; });
  const auto report = status().at("asked").at("report");
  CHECK(report.at("files_moved") == 0);
  // The record is mined, and what it says is done, however often.
  until([&] { return status().value("report", nlohmann::json()).value("files_moved", 0) > 0; });
  until([&] { return status().at("state") == "idle"; });
  CHECK(status().at("asked").at("state") == "done");
  CHECK(status().at("asked").at("report") == report);
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

TEST_CASE("each group has to pay for itself") {
  Recorded s;
  // What two large files save is less than what they would have to be copied for.
  const InodeId c = s.directory("c"), d = s.directory("d");
  const InodeId lonely = s.file(c, "lonely", 300'000), other = s.file(d, "other", 300'000);
  REQUIRE(Reorganiser(*s.fs).consolidate_now());
  for (int session = 0; session < 2; ++session) {
    s.clock->pass_ms(10'000);
    s.fs->note_access(lonely, 1);
    s.fs->note_access(other, 1);
  }
  constexpr std::uint64_t kExchange = 250'000;  // two requests saved, 600,000 bytes to copy
  const OwnPlan all = s.mine(true, kExchange);
  REQUIRE(all.groups);
  const OwnPlan paying = s.mine(false, kExchange);
  REQUIRE(paying.groups);
  CHECK(all.groups->find(lonely.value, ""));
  CHECK_FALSE(paying.groups->find(lonely.value, ""));
  CHECK(paying.groups->size() == all.groups->size() - 1);
  CHECK(paying.bytes_to_move == all.bytes_to_move - 600'000);
}

TEST_CASE("what the plan before grouped stays, unless the record speaks against it or a new group has it") {
  Recorded s;
  const InodeId c = s.directory("c");
  std::vector<InodeId> apart, silent;
  for (const char* name : {"w", "x"}) apart.push_back(s.file(c, name, 3000));
  for (const char* name : {"y", "z"}) silent.push_back(s.file(c, name, 3000));
  for (int session = 0; session < 6; ++session) {
    s.clock->pass_ms(10'000);
    s.fs->note_access(apart[static_cast<std::size_t>(session % 2)], 1);
  }
  auto before = std::make_shared<grouping::PlanGroups>();
  before->add_group({{"c/w", apart[0].value}, {"c/x", apart[1].value}});
  before->add_group({{"c/y", silent[0].value}, {"c/z", silent[1].value}});
  before->add_group({{"a/0", s.first[0].value}, {"a/1", s.first[1].value}, {"c/y", 0}, {"gone", 0}});
  s.fs->set_policy(std::make_shared<grouping::FrequencyPolicy>(before));
  const OwnPlan own = s.mine(false, 1'000'000);
  REQUIRE(own.groups);
  const auto group_of = [&](InodeId file) {
    const auto found = own.groups->find(file.value, "");
    return found ? std::optional(found->group) : std::nullopt;
  };
  for (int i = 0; i < Recorded::kPairs; ++i) {
    const auto n = static_cast<std::size_t>(i);
    REQUIRE(group_of(s.first[n]));
    CHECK(group_of(s.first[n]) == group_of(s.second[n]));
  }
  CHECK_FALSE(group_of(apart[0]));
  REQUIRE(group_of(silent[0]));
  CHECK(group_of(silent[0]) == group_of(silent[1]));
}

TEST_CASE("a plan made anew has no groups of files that are gone") {
  Recorded s;
  const OwnPlan former = s.mine(false, 1'000'000);
  REQUIRE(former.groups);
  REQUIRE(former.groups->size() == Recorded::kPairs);
  s.fs->set_policy(std::make_shared<grouping::FrequencyPolicy>(former.groups));
  const InodeId a = s.fs->lookup(kRootInode, "a")->ino, b = s.fs->lookup(kRootInode, "b")->ino;
  // One group goes, one loses a file, and one of the third is replaced.
  REQUIRE(s.fs->unlink(a, "0"));
  REQUIRE(s.fs->unlink(b, "0"));
  REQUIRE(s.fs->unlink(b, "1"));
  REQUIRE(s.fs->unlink(b, "2"));
  const InodeId another = s.file(b, "2", Recorded::kSecond);
  const InodeId c = s.directory("c");
  const InodeId x = s.file(c, "x", 3000), y = s.file(c, "y", 3000);
  for (int session = 0; session < 6; ++session) {
    s.clock->pass_ms(10'000);
    s.fs->note_access(x, 1);
    s.fs->note_access(y, 1);
  }
  const OwnPlan own = s.mine(false, 1'000'000);
  REQUIRE(own.groups);
  CHECK_FALSE(own.groups->find(s.first[0].value, "a/0"));
  CHECK_FALSE(own.groups->find(s.second[0].value, "b/0"));
  CHECK_FALSE(own.groups->find(s.second[1].value, "b/1"));
  const auto first = own.groups->find(s.first[2].value, ""), second = own.groups->find(another.value, "b/2");
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->group == second->group);
  REQUIRE(own.groups->find(x.value, ""));
  CHECK(own.groups->size() == Recorded::kPairs - 2 + 1);
}

namespace {

// Where a plan takes its time to be written.
struct SlowPlans final : PassingStore {
  using PassingStore::PassingStore;
  static constexpr std::string_view kBeingWritten = "plan.unfinished";
  std::atomic<int> writing{0}, most{0};

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    if (name == kBeingWritten) {
      const int now = ++writing;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return PassingStore::create(name, how);
  }
  Status rename(std::string_view from, std::string_view to) override {
    if (from == kBeingWritten) --writing;
    return PassingStore::rename(from, to);
  }
};

}  // namespace

TEST_CASE("of two who give a store a plan at once each writes it whole") {
  MemoryStore objects;
  SlowPlans store(objects);
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  Reorganiser reorganiser(*fs);
  RegroupJobs jobs(reorganiser, {});
  std::atomic<int> failed{0};
  const auto give = [&](std::size_t members) {
    for (int turn = 0; turn < 5; ++turn) {
      std::vector<grouping::PlanGroups::Member> files;
      for (std::size_t i = 0; i < members; ++i) files.push_back({"f" + std::to_string(i), 0});
      auto plan = std::make_shared<grouping::PlanGroups>();
      plan->add_group(std::move(files));
      if (!jobs.adopt(std::make_shared<grouping::FrequencyPolicy>(plan))) ++failed;
    }
  };
  std::thread other([&] { give(2000); });
  give(3);
  other.join();
  CHECK(failed == 0);
  CHECK(store.most == 1);
  const auto kept = read_plan_object(store);
  REQUIRE(kept);
  REQUIRE(*kept);
  CHECK((*kept)->members(0).size() == fs->policy()->plan()->members(0).size());
}

TEST_CASE("a plan that somebody gave while another was mined stays") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  Reorganiser reorganiser(*fs);
  RegroupJobs jobs(reorganiser, {});
  const auto plan = [](const std::string& member) {
    auto groups = std::make_shared<grouping::PlanGroups>();
    groups->add_group({{member, 0}, {member + member, 0}});
    return std::make_shared<grouping::FrequencyPolicy>(groups);
  };
  const auto before = fs->policy();
  REQUIRE(jobs.adopt(plan("wanted")));
  const auto wanted = fs->policy();
  REQUIRE(jobs.adopt_instead_of(before, plan("mined")) == false);
  CHECK(fs->policy() == wanted);
  REQUIRE(jobs.adopt_instead_of(wanted, plan("mined")) == true);
  CHECK(fs->policy() != wanted);
}

}  // namespace cffs::test
