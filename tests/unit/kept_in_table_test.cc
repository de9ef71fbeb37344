// Plans that keep tiny files in the table: whatever moves data leaves those there, and brings those there that are elsewhere.
#include "core/fs/kept_in_table.h"

#include <catch2/catch.hpp>

#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/fs/rehousing.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/plan_object.h"
#include "core/reorganise/policy_adoption.h"
#include "core/reorganise/regrouping.h"
#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kTiny = 100;

// One group of a tiny and two larger files.
std::shared_ptr<grouping::FrequencyPolicy> plan_with(std::uint64_t table_bytes) {
  auto groups = std::make_shared<grouping::PlanGroups>();
  groups->add_group({{"tiny", 0}, {"large", 0}, {"other", 0}});
  groups->set_table_bytes(table_bytes);
  return std::make_shared<grouping::FrequencyPolicy>(groups);
}

struct KeptStore {
  explicit KeptStore(std::uint64_t table_bytes) {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    REQUIRE(adopt_policy(*fs, plan_with(table_bytes)));
    reorganiser = std::make_unique<Reorganiser>(*fs);
  }
  void make(const std::string& name, std::size_t size) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    if (size > 0) REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(size, name[0])), kRoot));
    fs->forget(made->ino, 1);
  }
  void make_all() {
    make("tiny", kTiny);
    make("large", kTiny + 1);
    make("other", 3000);
    make("unplanned", 10);
    make("empty", 0);
    make("blob", 100'000);
  }
  void resize(const std::string& name, std::uint64_t size) {
    const auto file = fs->lookup(kRootInode, name);
    REQUIRE(file);
    AttributeChange change;
    change.size = size;
    REQUIRE(fs->setattr(file->ino, change, kRoot));
    fs->forget(file->ino, 1);
  }
  Home home(const std::string& name) {
    const auto at = fs->lookup(kRootInode, name);
    REQUIRE(at);
    const auto file = fs->rehousing().find({kRootInode, name}, at->ino);
    REQUIRE(file);
    REQUIRE(*file);
    fs->forget(at->ino, 1);
    return (*file)->inode.home;
  }
  std::string read(const std::string& name) {
    const auto file = fs->lookup(kRootInode, name);
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    REQUIRE(*fs->read(file->ino, 0, as_writable_bytes(bytes)) == bytes.size());
    fs->forget(file->ino, 1);
    return bytes;
  }
  void pass() { REQUIRE(reorganiser->consolidate_now()); }
  RegroupReport regroup_by(const grouping::Policy& policy, bool dry_run = false) {
    RegroupOptions options;
    options.dry_run = dry_run;
    const auto report = regroup(*reorganiser, policy, options);
    REQUIRE(report);
    return *report;
  }
  ~KeptStore() {
    CHECK(read("tiny") == std::string(read("tiny").size(), 't'));
    reorganiser.reset();
    CHECK(fs->close());
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::unique_ptr<Reorganiser> reorganiser;
};

}  // namespace

TEST_CASE("consolidation leaves tiny files in the table, also those that the plan names") {
  KeptStore s(kTiny);
  s.make_all();
  s.pass();
  CHECK(s.home("tiny") == Home::inline_);
  CHECK(s.home("unplanned") == Home::inline_);
  CHECK(s.home("empty") == Home::none);
  CHECK(s.home("large") == Home::composite);
  CHECK(s.home("other") == Home::composite);
  CHECK(s.home("blob") == Home::composite);  // a small one
  SECTION("one that grows is a member, one that shrinks is none") {
    s.resize("unplanned", kTiny + 1);
    s.resize("large", 5);
    s.pass();
    CHECK(s.home("unplanned") == Home::composite);
    CHECK(s.home("large") == Home::inline_);
    CHECK(s.read("large") == "lllll");
  }
  SECTION("a second pass has nothing to do") {
    const auto before = *s.objects.list("composites");
    s.pass();
    CHECK(*s.objects.list("composites") == before);
  }
  SECTION("regrouping has nothing to do") {
    CHECK(s.regroup_by(*s.fs->policy(), true).files_to_move == 0);
    CHECK(s.regroup_by(*s.fs->policy()).files_moved == 0);
  }
  SECTION("a member that changes does not bring tiny ones of its group") {
    s.resize("other", 2000);
    s.pass();
    CHECK(s.home("tiny") == Home::inline_);
    CHECK(s.home("other") == Home::composite);
  }
}

TEST_CASE("regrouping brings tiny files to the table, and back") {
  KeptStore s(0);
  s.make_all();
  s.pass();
  CHECK(s.home("tiny") == Home::composite);
  CHECK(s.home("unplanned") == Home::composite);
  const auto plan = plan_with(kTiny);
  REQUIRE(adopt_policy(*s.fs, plan));
  CHECK(s.regroup_by(*s.fs->policy(), true).files_to_move == 2);
  CHECK(s.home("tiny") == Home::composite);  // only looked
  CHECK(s.regroup_by(*s.fs->policy()).files_moved == 2);
  CHECK(s.home("tiny") == Home::inline_);
  CHECK(s.home("unplanned") == Home::inline_);
  CHECK(s.home("large") == Home::composite);
  CHECK(s.regroup_by(*s.fs->policy(), true).files_to_move == 0);
  REQUIRE(adopt_policy(*s.fs, std::make_shared<grouping::DirectoryPolicy>()));
  (void)s.regroup_by(*s.fs->policy());
  CHECK(s.home("tiny") == Home::composite);
  CHECK(s.home("unplanned") == Home::composite);
}

TEST_CASE("an import loads tiny files into the table") {
  KeptStore s(kTiny);
  std::vector<std::vector<NewFile>> groups(2);
  const auto add = [&](std::size_t group, const std::string& name, std::size_t size) {
    NewFile file;
    file.parent = kRootInode;
    file.name = name;
    file.inode.mode = S_IFREG | 0644;
    file.inode.nlink = 1;
    file.content = std::string(size, name[0]);
    groups[group].push_back(std::move(file));
  };
  add(0, "tiny", kTiny);
  add(0, "large", kTiny + 1);
  add(1, "none", 0);
  add(1, "other", 2000);
  add(1, "unplanned", 1);
  REQUIRE(s.fs->load(std::move(groups)));
  CHECK(s.home("tiny") == Home::inline_);
  CHECK(s.home("unplanned") == Home::inline_);
  CHECK(s.home("none") == Home::none);
  CHECK(s.home("large") == Home::composite);
  CHECK(s.home("other") == Home::composite);
  CHECK(s.read("other") == std::string(2000, 'o'));
  CHECK(s.read("large") == std::string(kTiny + 1, 'l'));
}

TEST_CASE("a store keeps nothing in its table that is larger than its inline_max") {
  KeptStore s(std::uint64_t{1} << 40);
  s.make("tiny", kTiny);
  s.make("at", 4096);
  s.make("above", 4097);
  s.pass();
  CHECK(s.home("tiny") == Home::inline_);
  CHECK(s.home("at") == Home::inline_);
  CHECK(s.home("above") == Home::composite);
}

TEST_CASE("a store remembers which files its plan keeps in the table") {
  for (const bool says_rest : {false, true}) {
    grouping::PlanGroups plan;
    plan.add_group({{"a", 7}, {"b", 0}});
    plan.set_table_bytes(4096);
    if (says_rest) plan.set_rest_bytes(0);
    MemoryStore store;
    REQUIRE(write_plan_object(store, plan));
    const auto back = read_plan_object(store);
    REQUIRE((back && *back));
    CHECK((*back)->table_bytes() == 4096);
    CHECK((*back)->rest_bytes() == plan.rest_bytes());
    CHECK((*back)->size() == 1);
    CHECK((*back)->find(7, "")->position == 0);
  }
}

TEST_CASE("a plan's shares are kept, whatever else it says") {
  for (const bool says_rest : {false, true}) {
    for (const std::uint64_t table_bytes : {0u, 4096u}) {
      grouping::PlanGroups plan;
      plan.add_group({{"a", 7}, {"b", 8}}, 0.6);
      plan.add_group({{"c", 9}, {"d", 0}});
      plan.add_group({{"e", 10}, {"f", 11}}, 7);
      plan.set_table_bytes(table_bytes);
      if (says_rest) plan.set_rest_bytes(0);
      MemoryStore store;
      REQUIRE(write_plan_object(store, plan));
      const auto back = read_plan_object(store);
      REQUIRE((back && *back));
      CHECK((*back)->table_bytes() == table_bytes);
      CHECK((*back)->rest_bytes() == plan.rest_bytes());
      REQUIRE((*back)->size() == 3);
      CHECK((*back)->share_around(8) == Approx(0.6).margin(0.002));
      CHECK((*back)->share_around(9) == 0);
      CHECK((*back)->share_around(11) == 1);
      CHECK((*back)->share_around(0) == 0);
      CHECK((*back)->share_around(77) == 0);
    }
  }
}

TEST_CASE("a plan's empty groups are not kept") {
  grouping::PlanGroups plan;
  for (int i = 0; i < 1000; ++i) plan.add_group({});
  plan.add_group({{"a", 7}, {"b", 8}});
  MemoryStore store;
  REQUIRE(write_plan_object(store, plan));
  const auto back = read_plan_object(store);
  REQUIRE((back && *back));
  CHECK((*back)->size() == 1);
  CHECK((*back)->find(8, "")->position == 1);
}

TEST_CASE("groups of larger files only") {
  const std::vector<grouping::Candidate> files{
      {1, 50, "a", 1}, {1, 101, "b", 2}, {1, 100, "c", 3}, {2, 500, "d", 4}};
  const grouping::DirectoryPolicy policy;
  using grouping::Group;
  CHECK(grouping::group_larger(policy, files, 0, 10'000, {}) == std::vector<Group>{{0, 1, 2}, {3}});
  CHECK(grouping::group_larger(policy, files, 100, 10'000, {}) == std::vector<Group>{{1}, {3}});
}

}  // namespace cffs::test
