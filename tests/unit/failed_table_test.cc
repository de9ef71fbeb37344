// A store that has met an error of its medium is not written any more, large files included, and what reads it costs no memory.
#include <catch2/catch.hpp>
#include <string>

#include "core/fs/file_system.h"
#include "core/object/faulty_store.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

TEST_CASE("behind a sync that failed nothing is written, in no file's place") {
  FaultyStore medium;
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 4096;
  REQUIRE(FileSystem::format(medium, repeatable(format), SystemClock()));
  FileSystemOptions options = quiet();
  options.access_times = AccessTimes::relative;
  const auto fs = std::move(*FileSystem::open(medium, options));
  const std::string content(2u << 20, 'c');
  const auto large = fs->mknod(kRootInode, "large", S_IFREG | 0644, 0, kRoot);
  REQUIRE(large);
  REQUIRE(fs->write(large->ino, 0, as_bytes(content), kRoot));
  constexpr int kFiles = 50;
  for (int i = 0; i < kFiles; ++i) {
    const auto small = fs->mknod(kRootInode, "f" + std::to_string(i), S_IFREG | 0644, 0, kRoot);
    REQUIRE(small);
    REQUIRE(fs->write(small->ino, 0, as_bytes(std::string(40, 'f')), kRoot));
    fs->forget(small->ino, 1);
  }
  REQUIRE(fs->sync());
  REQUIRE(fs->write(large->ino, 0, as_bytes(std::string("c")), kRoot));  // its times are settled now
  while (!fs->table().failed()) {
    AttributeChange change;
    change.mode = 0600;
    (void)fs->setattr(large->ino, change, kRoot);
    medium.fail_operation(1, EIO, FaultyStore::Persistence::once);
    (void)fs->sync();
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
  }
  const auto written = fs->write(large->ino, 5, as_bytes(std::string("X")), kRoot);
  REQUIRE_FALSE(written);
  CHECK(written.error().errno_value == EROFS);
  const auto punched = fs->allocate(large->ino, 4096, 8192, AllocateMode::punch_hole, true, kRoot);
  REQUIRE_FALSE(punched);
  CHECK(punched.error().errno_value == EROFS);
  std::string bytes(content.size(), '\0');
  REQUIRE(fs->read(large->ino, 0, as_writable_bytes(bytes)));
  CHECK((bytes == content));

  const std::size_t before = fs->known_inodes();
  for (int i = 0; i < kFiles; ++i) {
    const auto small = fs->lookup(kRootInode, "f" + std::to_string(i));
    REQUIRE(small);
    fs->accessed(small->ino);
    fs->forget(small->ino, 1);
  }
  CHECK(fs->known_inodes() < before + kFiles / 2);
}

}  // namespace cffs::test
