// A tree as deep as somebody likes: nothing that follows directories up or down runs out of stack.
#include <malloc.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/batch/group_members.h"
#include "core/batch/placed_files.h"
#include "core/browse/compared_tree.h"
#include "core/browse/tree_difference.h"
#include "core/browse/tree_walk.h"
#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
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
  // By its path, which a program hands in, and by number up to it.
  REQUIRE(fs->lookup(deepest, "."));
  const auto file = fs->mknod(deepest, "file", S_IFREG | 0644, 0, kRoot);
  REQUIRE(file);
  REQUIRE(fs->write(file->ino, 0, as_bytes(std::string(5000, 'x')), kRoot));
  const auto beside = fs->mknod(deepest, "beside", S_IFREG | 0644, 0, kRoot);
  REQUIRE(beside);
  REQUIRE(fs->write(beside->ino, 0, as_bytes(std::string(5000, 'y')), kRoot));
  fs->forget(file->ino, 1);
  fs->forget(beside->ino, 1);
  fs->forget(deepest, 1);
  REQUIRE(Reorganiser(*fs).consolidate_now());
  std::string path;
  for (std::size_t i = 0; i < kLevels; ++i) path += "d/";
  path += "file";
  const auto place = PlaceFinder(*fs).find(path);
  REQUIRE(place);
  CHECK(place->size == 5000);
  const auto group = group_of(*fs, path);
  REQUIRE(group);
  CHECK(group->size() == 2);
  REQUIRE(fs->close());
}

TEST_CASE("who walks a deep tree remembers one path", "[deep]") {
  constexpr std::size_t kWalked = 15'000;  // with a path for each level, 225 MB
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  auto fs = open(store);
  InodeId at = kRootInode;
  for (std::size_t i = 0; i < kWalked; ++i) {
    const auto made = fs->mkdir(at, "d", 0700, kRoot);
    REQUIRE(made);
    if (at != kRootInode) fs->forget(at, 1);
    at = made->ino;
  }
  REQUIRE(fs->mknod(at, "file", S_IFREG | 0644, 0, kRoot));
  fs->forget(at, 1);
  REQUIRE(fs->sync());
  const auto held = [] {
    const struct mallinfo2 now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  const std::size_t before = held();
  std::size_t most = before, levels = 0;
  const auto note = [&] {
    if (++levels % 1000 == 0) most = std::max(most, held());
  };
  SECTION("for find, du, ls") {
    const auto start = fs->lookup(kRootInode, ".");
    REQUIRE(start);
    TreeWalker walker;
    unsigned deepest = 0;
    std::size_t left = 0;
    walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
      note();
      if (file.path.size() !=
          (file.depth == 0 ? 0 : file.depth * 2 - (S_ISDIR(file.attributes.mode) ? 1 : -2)))
        return fail(EIO);
      deepest = std::max(deepest, file.depth);
      return Onward::descend;
    };
    walker.leave = [&](const WalkedFile& file) -> Status {
      note();
      if (file.path.size() != (file.depth == 0 ? 0 : file.depth * 2 - 1)) return fail(EIO);
      if (file.depth + left++ != kWalked) return fail(EIO);
      return {};
    };
    REQUIRE(walk_tree(*fs, *start, walker));
    CHECK(deepest == kWalked + 1);
    CHECK(left == kWalked + 1);
  }
  SECTION("for diff") {
    auto first = std::move(*compared_store_tree(*fs, "", "a"));
    auto second = std::move(*compared_store_tree(*fs, "", "b"));
    DifferenceOptions options;
    options.go_on = [&] { return note(), true; };
    const auto done = compare_trees(*first, *second, options);
    REQUIRE(done);
    CHECK(done->files == kWalked + 2);
    CHECK(done->differences + done->troubles == 0);
  }
  SECTION("for all files below it") {
    const auto files = PlacedFiles::below(*fs, "/");
    REQUIRE(files);
    most = held();
    REQUIRE(files->size() == 1);
    CHECK(files->path(0).size() == 2 * kWalked + 5);
    CHECK(files->path(0).ends_with("/d/d/file"));
    CHECK(files->path(0).starts_with("/d/d/"));
  }
  CHECK(most - before < (100u << 20));
  REQUIRE(fs->close());
}

}  // namespace cffs::test
