// Those who move data in the background, one promise each; what they must not change is in tests/model.
#include <catch2/catch.hpp>

#include "core/composite/composite_store.h"
#include "core/fs/staged_directories.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/plan/policy_choice.h"
#include "core/reorganise/compaction.h"
#include "core/reorganise/plan_object.h"
#include "core/reorganise/policy_adoption.h"
#include "core/reorganise/regrouping.h"
#include "core/table/table.h"
#include "grouping/frequency_policy.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

struct Store {
  Store() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    open();
  }
  void open() {
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  void close() {
    REQUIRE(fs->close());
    fs.reset();
  }
  void make(const std::string& name, const std::string& content) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(content), kRoot));
    fs->forget(made->ino, 1);
  }
  std::string read(const std::string& name) {
    const auto file = fs->lookup(kRootInode, name);
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    REQUIRE(*fs->read(file->ino, 0, as_writable_bytes(bytes)) == bytes.size());
    fs->forget(file->ino, 1);
    return bytes;
  }
  std::vector<std::string> composites() { return *objects.list("composites"); }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
};

}  // namespace

TEST_CASE("a composite that was half freed before a restart is compacted after it") {
  Store s;
  for (int i = 0; i < 20; ++i) s.make("f" + std::to_string(i), std::string(2000, static_cast<char>('a' + i)));
  REQUIRE(Reorganiser(*s.fs).consolidate_now());
  const auto before = s.composites();
  REQUIRE(before.size() == 1);
  for (int i = 0; i < 15; ++i) REQUIRE(s.fs->unlink(kRootInode, "f" + std::to_string(i)));
  s.close();
  s.open();
  REQUIRE(s.fs->staged_directories().take_wasteful().empty());  // nobody remembers
  REQUIRE(Reorganiser(*s.fs).compact_now());
  REQUIRE(s.fs->sync());
  const auto after = s.composites();
  REQUIRE(after.size() == 1);
  REQUIRE(after != before);
  for (int i = 15; i < 20; ++i) {
    REQUIRE(s.read("f" + std::to_string(i)) == std::string(2000, static_cast<char>('a' + i)));
  }
  REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  CompositeFiller filler(*s.fs);
  REQUIRE(Compaction(*s.fs, filler).find_wasteful()->empty());
}

TEST_CASE("choosing a policy changes nothing; adopting it makes its plan the store's, bound to the files") {
  Store s;
  s.make("a", "1");
  s.make("b", "2");
  auto groups = std::make_shared<grouping::PlanGroups>();
  groups->add_group({{"a", 0}, {"b", 0}, {"not here", 0}});
  PolicyChoice choice;
  choice.name = "frequency";
  choice.groups = groups;
  const auto policy = choose_policy(s.objects, choice);
  REQUIRE(policy);
  REQUIRE((*policy)->plan() == groups);
  REQUIRE(!*read_plan_object(s.objects));
  REQUIRE(s.fs->policy()->name() == "directory");

  REQUIRE(adopt_policy(*s.fs, *policy));
  REQUIRE(s.fs->policy()->name() == "frequency");
  const auto kept = *read_plan_object(s.objects);
  REQUIRE(kept);
  const auto number = s.fs->lookup(kRootInode, "a")->ino.value;
  REQUIRE(kept->members(0)[0].file == number);
  REQUIRE(kept->members(0)[2].file == 0);
  REQUIRE(groups->members(0)[0].file == 0);  // what was given is as it was
}

TEST_CASE("a dry run of a regrouping changes neither policy nor plan nor what becomes quiet meanwhile") {
  Store s;
  for (int i = 0; i < 5; ++i) s.make("f" + std::to_string(i), std::string(100, 'x'));
  Reorganiser reorganiser(*s.fs);
  RegroupOptions options;
  options.dry_run = true;
  // While it runs, files become quiet and are grouped as ever.
  options.on_progress = [&](const std::string&) { REQUIRE(s.fs->policy()->name() == "directory"); };
  auto groups = std::make_shared<grouping::PlanGroups>();
  groups->add_group({{"f0", 0}, {"f3", 0}});
  const auto report = regroup(reorganiser, grouping::FrequencyPolicy(groups), options);
  REQUIRE(report);
  REQUIRE(report->policy == "frequency");
  REQUIRE(report->files_to_move == 5);
  REQUIRE(report->files_moved == 0);
  REQUIRE(s.fs->policy()->name() == "directory");
  REQUIRE(!*read_plan_object(s.objects));
  REQUIRE(s.composites().empty());
}

TEST_CASE("a store that cannot be started is left as it is, and says why") {
  Store s;
  s.make("a", "1");
  s.close();
  {
    const auto table = std::move(*Table::open(s.objects, {}));
    Batch batch;
    batch.erase(Key::null_name(kRootInode));
    REQUIRE(table->write(batch));
  }
  const auto opened = FileSystem::open(s.objects, quiet());
  REQUIRE(!opened);
  REQUIRE(opened.error().kind == ErrorKind::corruption);
  REQUIRE(opened.error().context.find("root") != std::string::npos);
}

}  // namespace cffs::test
