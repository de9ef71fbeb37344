// Names of one directory whose hashes are equal share a row: as many as a listing can tell apart, and no more.
#include <catch2/catch.hpp>
#include <set>

#include "core/fs/file_system.h"
#include "core/fs/limits.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "tests/test_callers.h"

namespace cffs::test {
namespace {

std::uint64_t always_the_same(std::string_view) { return 0x1234567890abcdef; }

std::set<std::string> names_in(FileSystem& fs, InodeId directory) {
  std::set<std::string> names;
  std::uint64_t cookie = 0;
  for (bool more = true; more;) {  // a few at a time, as the kernel asks
    more = false;
    int n = 0;
    REQUIRE(fs.readdir(directory, cookie, false, [&](const DirectoryEntry& e) {
      if (++n > 7) return false;
      REQUIRE(names.insert(std::string(e.name)).second);
      cookie = e.cookie;
      more = true;
      return true;
    }));
  }
  names.erase(".");
  names.erase("..");
  return names;
}

}  // namespace

TEST_CASE("colliding names: ENOSPC beyond the most, all are listed, and all can go") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, StoreFormat(), SystemClock()));
  FileSystemOptions options;
  options.background = false;
  options.name_hash = always_the_same;
  auto fs = std::move(*FileSystem::open(store, options));
  const InodeId directory = fs->mkdir(kRootInode, "d", 0755, kRoot)->ino;
  std::set<std::string> made;
  for (std::size_t i = 0; i < kNamesOfOneHash; ++i) {
    const std::string name = "name" + std::to_string(i);
    REQUIRE(fs->mknod(directory, name, S_IFREG | 0600, 0, kRoot));
    made.insert(name);
  }
  REQUIRE(names_in(*fs, directory) == made);

  const InodeId other = fs->mkdir(kRootInode, "other", 0755, kRoot)->ino;
  const InodeId file = fs->mknod(other, "file", S_IFREG | 0600, 0, kRoot)->ino;
  const auto refused = [](const auto& done) { return !done && done.error().errno_value == ENOSPC; };
  REQUIRE(refused(fs->mknod(directory, "more", S_IFREG | 0600, 0, kRoot)));
  REQUIRE(refused(fs->mkdir(directory, "more", 0700, kRoot)));
  REQUIRE(refused(fs->symlink(directory, "more", "target", kRoot)));
  REQUIRE(refused(fs->link(file, directory, "more")));
  REQUIRE(refused(fs->rename(other, "file", directory, "more", RenameMode::replace, kRoot)));
  const auto unnamed = fs->make_unnamed(directory, 0600, kRoot);
  REQUIRE(refused(fs->link(unnamed->ino, directory, "more")));
  REQUIRE(fs->rename(other, "file", directory, "name3", RenameMode::replace, kRoot));
  REQUIRE(fs->rename(directory, "name4", directory, "renamed", RenameMode::replace, kRoot));
  made.erase("name4");
  made.insert("renamed");
  REQUIRE(names_in(*fs, directory) == made);
  REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});

  for (const std::string& name : made) REQUIRE(fs->unlink(directory, name));
  REQUIRE(fs->rmdir(kRootInode, "d"));
}

}  // namespace cffs::test
