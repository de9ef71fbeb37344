// Listings that memory ends in: what was delivered with a reference keeps it, what was not has none, and the caller is told.
#include <catch2/catch.hpp>
#include <new>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

TEST_CASE("a listing whose visitor has no memory refers to what it delivered and to nothing else",
          "[listed]") {
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  {
    auto before = FileSystem::open(objects, quiet());
    REQUIRE(before);
    for (int i = 0; i < 9; ++i)
      REQUIRE((*before)->mknod(kRootInode, std::to_string(i), S_IFREG | 0644, 0, kRoot));
    REQUIRE((*before)->close());
  }
  auto fs = FileSystem::open(objects, quiet());
  REQUIRE(fs);
  const std::size_t known = (*fs)->known_inodes();
  std::vector<InodeId> delivered;
  const Status listed = (*fs)->readdir(kRootInode, 2, true, [&](const DirectoryEntry& entry) {
    if (delivered.size() == 4) throw std::bad_alloc();
    delivered.push_back(entry.attributes.ino);
    return true;
  });
  REQUIRE_FALSE(listed);
  CHECK(listed.error().errno_value == ENOMEM);
  CHECK((*fs)->known_inodes() == known + 4);
  for (const InodeId ino : delivered) (*fs)->forget(ino, 1);
  CHECK((*fs)->known_inodes() == known);
}

}  // namespace cffs::test
