// Names of one directory whose hashes are equal share a row: as many as a listing can tell apart, and no more.
#include <catch2/catch.hpp>
#include <set>

#include "core/fs/file_system.h"
#include "core/fs/limits.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kNone = 0;  // bits of a hash

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

// A name whose XXH3-64 anybody can make again: the hash multiplies the first eight bytes, added to a constant that everybody
// knows, by the next eight; where the sum is 0, those do not matter.
std::string crafted_name(int n) {
  std::string free_bytes = std::to_string(20'000'000 + n);
  return "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe" + free_bytes + "the same in all.";
}

}  // namespace

TEST_CASE("names made to collide do not where the store's key is not known") {
  constexpr int kNames = 2500;
  REQUIRE(NameHash::unkeyed()(crafted_name(0)) == NameHash::unkeyed()(crafted_name(kNames)));

  MemoryStore store;
  REQUIRE(FileSystem::format(store, StoreFormat(), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId directory = fs->mkdir(kRootInode, "d", 0755, kRoot)->ino;
  std::set<std::string> made;
  for (int i = 0; i < kNames; ++i) {
    REQUIRE(fs->mknod(directory, crafted_name(i), S_IFREG | 0600, 0, kRoot));
    made.insert(crafted_name(i));
  }
  REQUIRE(names_in(*fs, directory) == made);
  std::size_t rows = 0;
  REQUIRE(fs->table().scan_directory(directory, 0, [&](Key, const Row& row) {
    ++rows;
    return row.entries.size() == 1;
  }));
  REQUIRE(rows == kNames);
  for (const std::string& name : made) REQUIRE(fs->unlink(directory, name));
  REQUIRE(fs->rmdir(kRootInode, "d"));
  REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
}

TEST_CASE("in a store from before there was a key, names made to collide are bounded") {
  MemoryStore store;
  StoreFormat format;
  format.name_hash = NameHash::unkeyed();
  REQUIRE(FileSystem::format(store, format, SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  for (std::size_t i = 0; i < kNamesOfOneHash; ++i) {
    REQUIRE(fs->mknod(kRootInode, crafted_name(static_cast<int>(i)), S_IFREG | 0600, 0, kRoot));
  }
  REQUIRE(fs->mknod(kRootInode, crafted_name(-1), S_IFREG | 0600, 0, kRoot).error().errno_value == ENOSPC);
  REQUIRE(names_in(*fs, kRootInode).size() == kNamesOfOneHash);
}

TEST_CASE("colliding names: ENOSPC beyond the most, all are listed, and all can go") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  FileSystemOptions options = quiet();
  options.name_hash = NameHash::unkeyed().narrowed(kNone);
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
