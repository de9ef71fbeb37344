// A tree as deep as somebody likes: nothing that follows directories up or down runs out of stack.
#include <catch2/catch.hpp>

#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/transfer/tree_visit.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr std::size_t kLevels = 60'000;

std::unique_ptr<FileSystem> open(MemoryStore& store) {
  FileSystemOptions options;
  options.background = false;
  options.boot_id = "boot";
  return std::move(*FileSystem::open(store, options));
}

// Every directory is referenced; the last is the deepest.
std::vector<InodeId> make_tree(FileSystem& fs) {
  std::vector<InodeId> levels{kRootInode};
  while (levels.size() <= kLevels) {
    const auto made = fs.mkdir(levels.back(), "d", 0700, kRoot);
    if (!made) FAIL(made.error().message());
    levels.push_back(made->ino);
  }
  return levels;
}

}  // namespace

TEST_CASE("a deep tree", "[deep]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  InodeId deepest;
  bool visits = false;
  {
    auto fs = open(store);
    const std::vector<InodeId> levels = make_tree(*fs);
    deepest = levels.back();
    SECTION("is forgotten from the top, then the deepest") {
      for (std::size_t i = 1; i < levels.size(); ++i) fs->forget(levels[i], 1);
      REQUIRE(fs->getattr(levels[1]).error().errno_value == ESTALE);
    }
    SECTION("is in use when the store is closed, and then visited") { visits = true; }
    SECTION("is pulled out from below a user") {
      for (std::size_t i = 1; i + 1 < levels.size(); ++i) fs->forget(levels[i], 1);
      REQUIRE(fs->getattr(levels[1]));
      fs->forget(deepest, 1);
      REQUIRE(fs->getattr(levels[1]).error().errno_value == ESTALE);
    }
    REQUIRE(fs->close());
  }
  auto fs = open(store);
  // By its number alone.
  const auto found = fs->lookup(deepest, ".");
  REQUIRE(found);
  REQUIRE(found->ino == deepest);
  fs->forget(deepest, 1);
  if (!visits) return;
  const auto start = fs->lookup(kRootInode, ".");
  REQUIRE(start);
  std::size_t entered = 0, left = 0;
  REQUIRE(visit_tree(
      *fs, *start, [&](const VisitedFile&) { return ++entered, Status(); },
      [&](const VisitedFile&) { return ++left, Status(); }));
  REQUIRE(entered == kLevels + 1);
  REQUIRE(left == kLevels + 1);
  REQUIRE(find_inconsistencies(*fs)->empty());
  REQUIRE(fs->close());
}

}  // namespace cffs::test
