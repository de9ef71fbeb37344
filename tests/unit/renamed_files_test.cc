// Members that were renamed into, or out of, their place among their own: they are brought together as what was written is.
#include "core/fs/renamed_files.h"

#include <catch2/catch.hpp>

#include "core/fs/rehousing.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "grouping/frequency_policy.h"
#include "grouping/reference_policy.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

struct RenamingStore {
  explicit RenamingStore(std::shared_ptr<const grouping::Policy> policy) {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    FileSystemOptions options = quiet();
    options.policy = std::move(policy);
    auto opened = FileSystem::open(objects, options);
    REQUIRE(opened);
    fs = std::move(*opened);
    reorganiser = std::make_unique<Reorganiser>(*fs);
  }
  // A file that the kernel forgets at once.
  InodeId make(InodeId directory, const std::string& name, const std::string& content) {
    const auto made = fs->mknod(directory, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(content), kRoot));
    fs->forget(made->ino, 1);
    return made->ino;
  }
  InodeId directory(const std::string& name) {
    const auto made = fs->mkdir(kRootInode, name, 0755, kRoot);
    REQUIRE(made);
    return made->ino;
  }
  void rename(InodeId from, const std::string& name, InodeId to, const std::string& new_name) {
    REQUIRE(fs->rename(from, name, to, new_name, RenameMode::replace, kRoot));
  }
  std::pair<CompositeId, std::uint64_t> group_of(InodeId directory, const std::string& name) {
    const auto at = fs->lookup(directory, name);
    REQUIRE(at);
    const auto file = fs->rehousing().find({directory, name}, at->ino);
    REQUIRE(file);
    REQUIRE(*file);
    REQUIRE((*file)->inode.home == Home::composite);
    fs->forget(at->ino, 1);
    return {(*file)->inode.extent.composite, (*file)->inode.extent.group_offset};
  }
  void pass() { REQUIRE(reorganiser->consolidate_now()); }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::unique_ptr<Reorganiser> reorganiser;
};

std::shared_ptr<const grouping::Policy> plan_of(std::vector<grouping::PlanGroups::Member> members) {
  auto groups = std::make_shared<grouping::PlanGroups>();
  groups->add_group(std::move(members));
  return std::make_shared<grouping::FrequencyPolicy>(groups);
}

}  // namespace

TEST_CASE("a member that is renamed to a place in the plan joins its group") {
  RenamingStore s(plan_of({{"a/1", 0}, {"b/1", 0}}));
  const InodeId a = s.directory("a"), b = s.directory("b");
  s.make(a, "1", "one");
  s.make(b, "new", "another");
  s.pass();
  REQUIRE(s.group_of(a, "1") != s.group_of(b, "new"));
  s.rename(b, "new", b, "1");
  s.pass();
  REQUIRE(s.group_of(a, "1") == s.group_of(b, "1"));
  REQUIRE(s.fs->renamed_files().nothing_new());
}

TEST_CASE("a renamed member is not forgotten by a pass that ends early") {
  RenamingStore s(plan_of({{"a/1", 0}, {"b/1", 0}}));
  const InodeId a = s.directory("a"), b = s.directory("b");
  s.make(a, "1", "one");
  s.make(b, "new", "another");
  s.pass();
  s.rename(b, "new", b, "1");
  s.make(a, "staged", "a pass has something to do");
  CompactOptions ends_early;
  ends_early.go_on = [] { return false; };
  REQUIRE(s.reorganiser->compact_now(ends_early));
  REQUIRE(s.fs->renamed_files().waiting() == 1);
  s.pass();
  REQUIRE(s.group_of(a, "1") == s.group_of(b, "1"));
  REQUIRE(s.fs->renamed_files().nothing_new());
}

TEST_CASE("a renamed file that nobody has in use is found by its number") {
  RenamingStore s(plan_of({}));
  const InodeId a = s.directory("a"), b = s.directory("b");
  const InodeId one = s.make(a, "1", "one"), two = s.make(b, "1", "two");
  s.fs->set_policy(plan_of({{"a/1", one.value}, {"b/1", two.value}}));
  s.rename(a, "1", a, "went");
  s.pass();
  REQUIRE(s.group_of(a, "went") == s.group_of(b, "1"));
  const auto again = s.fs->lookup(b, "1");
  REQUIRE(again);
  REQUIRE(s.fs->write(again->ino, 0, as_bytes(std::string("anew")), kRoot));
  s.pass();
  REQUIRE(s.group_of(a, "went") == s.group_of(b, "1"));
}

TEST_CASE("a picture that is renamed to what a page embeds joins the page") {
  RenamingStore s(std::make_shared<grouping::ReferencePolicy>());
  const InodeId pages = s.directory("pages"), pictures = s.directory("pictures");
  s.make(pages, "p.html", "<img src=../pictures/logo.png>");
  s.make(pictures, "other.png", "picture");
  s.make(pictures, "more.png", "picture");
  s.pass();
  REQUIRE(s.group_of(pages, "p.html") != s.group_of(pictures, "other.png"));
  s.rename(pictures, "other.png", pictures, "logo.png");
  s.pass();
  REQUIRE(s.group_of(pages, "p.html") == s.group_of(pictures, "logo.png"));
}

TEST_CASE("a page that is renamed keeps what it embeds, or takes what its new place names") {
  RenamingStore s(std::make_shared<grouping::ReferencePolicy>());
  const InodeId old_pages = s.directory("old"), pages = s.directory("pages");
  s.make(old_pages, "p.html", "<img src=own.png>");
  s.make(old_pages, "own.png", "here");
  s.make(pages, "own.png", "there");
  s.pass();
  REQUIRE(s.group_of(old_pages, "p.html") == s.group_of(old_pages, "own.png"));
  s.rename(old_pages, "p.html", pages, "p.html");
  s.pass();
  REQUIRE(s.group_of(pages, "p.html") == s.group_of(pages, "own.png"));
}

TEST_CASE("renamed files are remembered for those who follow, up to a bound") {
  RenamedFiles renamed;
  renamed.note(InodeId{5}, InodeId{1}, "x");
  REQUIRE(renamed.nothing_new());
  REQUIRE_FALSE(renamed.place_of(InodeId{5}));
  renamed.follow(true);
  renamed.note(InodeId{5}, InodeId{1}, "x");
  renamed.note(InodeId{5}, InodeId{1}, "y");
  const auto taken = renamed.take();
  REQUIRE(taken.size() == 1);
  REQUIRE(taken[0].second.name == "y");
  REQUIRE(renamed.nothing_new());
  renamed.put_back({InodeId{5}, InodeId{6}});
  REQUIRE(renamed.take().size() == 1);
  for (std::uint64_t i = 100; i < 20'000; ++i) renamed.note(InodeId{i}, InodeId{1}, "n");
  REQUIRE(renamed.place_of(InodeId{5}));
  for (std::uint64_t i = 100; i < 40'000; ++i) renamed.note(InodeId{i}, InodeId{2}, "n");
  REQUIRE_FALSE(renamed.place_of(InodeId{5}));
  REQUIRE(renamed.place_of(InodeId{39'999})->parent == InodeId{2});
  REQUIRE(renamed.take().size() < 16'384);
  renamed.follow(false);
  REQUIRE_FALSE(renamed.place_of(InodeId{39'999}));
}

}  // namespace cffs::test
