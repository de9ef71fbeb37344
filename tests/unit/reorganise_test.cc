// Those who move data in the background, one promise each; what they must not change is in tests/model.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>

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
#include "tests/manual_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

struct ReorganisedStore {
  ReorganisedStore() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    open();
  }
  void open() {
    auto opened = FileSystem::open(objects, options);
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

  FileSystemOptions options = quiet();
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
};

// Twenty members in one composite, fifteen of which go.
std::vector<std::string> half_free(ReorganisedStore& s) {
  for (int i = 0; i < 20; ++i) s.make("f" + std::to_string(i), std::string(2000, static_cast<char>('a' + i)));
  REQUIRE(Reorganiser(*s.fs).consolidate_now());
  auto before = s.composites();
  REQUIRE(before.size() == 1);
  for (int i = 0; i < 15; ++i) REQUIRE(s.fs->unlink(kRootInode, "f" + std::to_string(i)));
  return before;
}
std::size_t marks(const ReorganisedStore& s) {
  std::size_t n = 0;
  REQUIRE(s.fs->table().scan_tag(KeyTag::wasteful_composite, [&](Key, std::string_view) { return ++n > 0; }));
  return n;
}
void expect_compacted(ReorganisedStore& s, const std::vector<std::string>& before) {
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
  REQUIRE(marks(s) == 0);
}

}  // namespace

TEST_CASE("a composite is no longer being filled when who filled it has gone") {
  ReorganisedStore s;
  const Compression how{Codec::zstd, 3};
  REQUIRE(s.fs->compress(how));
  s.make("f", std::string(20'000, 'f'));
  const auto ino = s.fs->lookup(kRootInode, "f");
  REQUIRE(ino);
  const auto file = [&] {
    const auto found = s.fs->rehousing().find({kRootInode, "f"}, ino->ino);
    REQUIRE(found);
    REQUIRE(*found);
    return **found;
  };
  {
    CompositeFiller filler(*s.fs);
    CompositeFiller::Group group{file()};
    REQUIRE(*s.fs->rehousing().read(group[0]));
    REQUIRE(
        filler.add({std::move(group)}, grouping::PolicyId::directory, CompositeFiller::Purpose::grouping));
  }
  REQUIRE(file().inode.home == Home::composite);
  const auto packed = s.fs->rehousing().pack(file().inode.extent.composite, how);
  REQUIRE(packed);
  REQUIRE(*packed);
  REQUIRE(s.read("f") == std::string(20'000, 'f'));
}

TEST_CASE("a composite that was half freed before a restart is compacted after it") {
  ReorganisedStore s;
  const auto before = half_free(s);
  REQUIRE(marks(s) == 1);
  SECTION("by whoever compacts what is noted") {
    s.close();
    s.open();
    Reorganiser(*s.fs).compact_noted();
    expect_compacted(s, before);
  }
  SECTION("in a store of before they were remembered, when asked for") {
    s.close();
    s.open();
    REQUIRE(s.fs->staged_directories().take_wasteful().size() == 1);
    REQUIRE(Reorganiser(*s.fs).compact_now());
    expect_compacted(s, before);
  }
  SECTION("the mark of one that is gone goes") {
    for (int i = 15; i < 20; ++i) REQUIRE(s.fs->unlink(kRootInode, "f" + std::to_string(i)));
    REQUIRE(marks(s) == 0);
    Batch batch;
    batch.put(Key::tagged(KeyTag::wasteful_composite, 5000, 0), {});
    REQUIRE(s.fs->table().write(batch));
    s.close();
    s.open();
    REQUIRE(marks(s) == 1);
    Reorganiser(*s.fs).compact_noted();
    REQUIRE(marks(s) == 0);
    REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  }
}

TEST_CASE(
    "a composite for which something was short is compacted when that has passed, a rotten one is left") {
  const auto clock = std::make_shared<ManualClock>();
  ReorganisedStore s;
  s.options.clock = clock;
  s.close();
  s.open();
  const auto before = half_free(s);
  const auto have_room = [&](std::uint64_t bytes) {  // what was granted earlier is not there any more
    s.objects.show_available(bytes);
    s.close();
    s.open();
  };
  SECTION("no room, not even in the reserve") {
    have_room(0);
    Reorganiser reorganiser(*s.fs);
    reorganiser.compact_noted();
    REQUIRE(s.composites() == before);
    REQUIRE(marks(s) == 1);
    s.objects.show_available(1u << 30);
    reorganiser.compact_noted();  // not yet
    REQUIRE(s.composites() == before);
    clock->pass_ms(Reorganiser::kRetryMs);
    reorganiser.compact_noted();
    expect_compacted(s, before);
  }
  SECTION("what is kept free for other work is enough, since it gives back more") {
    have_room(3u << 20);
    const auto made = s.fs->mknod(kRootInode, "new", S_IFREG | 0644, 0, kRoot);
    REQUIRE((!made && made.error().errno_value == ENOSPC));
    Reorganiser(*s.fs).compact_noted();
    expect_compacted(s, before);
  }
  SECTION("also where consolidation has no room") {
    s.make("waits", std::string(3000, 'w'));
    have_room(3u << 20);
    const Status done = Reorganiser(*s.fs).consolidate_now();
    REQUIRE((!done && done.error().errno_value == ENOSPC));
    REQUIRE(s.read("waits") == std::string(3000, 'w'));
    expect_compacted(s, before);
  }
  SECTION("rot") {
    std::uint64_t living = 0;
    REQUIRE(s.fs->table().scan_entries([&](Key, const Row& row) {
      for (const Entry& entry : row.entries)
        living = entry.name == "f17" ? entry.inode->extent.offset : living;
      return true;
    }));
    flip_bit(s.objects, before.front(), living);
    Reorganiser(*s.fs).compact_noted();
    clock->pass_ms(Reorganiser::kRetryMs);
    REQUIRE(s.fs->staged_directories().empty());
    REQUIRE(s.composites() == before);
    REQUIRE(marks(s) == 1);  // whoever opens the store next looks again
  }
}

TEST_CASE("the table gives back the room of what was erased from it") {
  ReorganisedStore s;
  s.close();
  s.options = all_in_rows();
  s.open();
  const auto table_bytes = [&] {
    std::uint64_t bytes = 0;
    const auto names = *s.objects.list("table");
    for (const std::string& name : names) bytes += (*s.objects.open(name))->info()->size;
    return bytes;
  };
  std::mt19937_64 random(1);
  std::string content(4000, '\0');
  for (int i = 0; i < 20'000; ++i) {
    for (char& c : content) c = static_cast<char>(random());
    s.make("f" + std::to_string(i), content);
  }
  REQUIRE(table_bytes() > 70'000'000);
  for (int i = 0; i < 20'000; ++i) REQUIRE(s.fs->unlink(kRootInode, "f" + std::to_string(i)));
  int parts = 0;
  const auto go_on = [&] { return ++parts > 0; };
  constexpr std::uint64_t kLeast = 32u << 20;
  REQUIRE_FALSE(s.fs->table().compact_garbage(std::uint64_t{1} << 40, go_on));
  REQUIRE_FALSE(s.fs->table().compact_garbage(kLeast, [] { return false; }));
  REQUIRE(table_bytes() > 70'000'000);
  REQUIRE(s.fs->table().compact_garbage(kLeast, go_on));
  REQUIRE(parts > 0);
  REQUIRE(table_bytes() < 1'000'000);
  REQUIRE_FALSE(s.fs->table().compact_garbage(kLeast, go_on));  // nothing is left to be done
}

TEST_CASE("files from before the clock was set back are grouped and sealed like any others") {
  constexpr std::int64_t kYearMs = 365LL * 24 * 3600 * 1000, kQuietMs = 1000;
  const auto clock = std::make_shared<ManualClock>();
  ReorganisedStore s;
  s.close();
  s.options.clock = clock;
  s.open();
  clock->set_ahead_ms(kYearMs);
  for (int i = 0; i < 5; ++i) s.make("f" + std::to_string(i), std::string(2000, 'x'));
  s.make("large", std::string(3u << 20, 'y'));
  REQUIRE(s.fs->sync());
  clock->set_ahead_ms(0);
  s.make("since", std::string(2000, 'z'));
  {
    Reorganiser reorganiser(*s.fs, kQuietMs);
    REQUIRE(reorganiser.start());
    const auto counted = [&](const auto& wanted) {
      std::size_t n = 0;
      NamespaceVisitor visitor;
      visitor.entries = [&](Key, const Row& row) {
        for (const Entry& entry : row.entries) n += entry.inode && wanted(*entry.inode) ? 1 : 0;
        return true;
      };
      REQUIRE(s.fs->table().scan_namespace(visitor));
      return n;
    };
    const auto members = [&] { return counted([](const Inode& i) { return i.home == Home::composite; }); };
    const auto sealed = [&] { return counted([](const Inode& i) { return i.sealed; }); };
    for (int i = 0; i < 100 && (members() < 6 || sealed() < 1); ++i) {
      clock->pass_ms(kQuietMs);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    REQUIRE(members() == 6);
    REQUIRE(sealed() == 1);
    REQUIRE(s.fs->staged_directories().empty());  // nobody looks again and again
  }
  s.close();
}

TEST_CASE("choosing a policy changes nothing; adopting it makes its plan the store's, bound to the files") {
  ReorganisedStore s;
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
  ReorganisedStore s;
  for (int i = 0; i < 5; ++i) s.make("f" + std::to_string(i), std::string(100, 'x'));
  Reorganiser reorganiser(*s.fs);
  RegroupOptions options;
  options.dry_run = true;
  // While it runs, files become quiet and are grouped as ever.
  options.on_progress = [&](const WorkStep&) { REQUIRE(s.fs->policy()->name() == "directory"); };
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
  ReorganisedStore s;
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
