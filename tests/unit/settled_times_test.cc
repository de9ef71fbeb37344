// When a large file's times reach its row: a file that was changed must not show its old ones after a crash.
#include <catch2/catch.hpp>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "core/table/table.h"
#include "tests/manual_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

std::int64_t mtime_in_row(FileSystem& fs, InodeId ino) {
  std::int64_t found = -1;
  NamespaceVisitor visitor;
  visitor.entries = [&](Key, const Row& row) {
    for (const Entry& entry : row.entries)
      if (entry.ino == ino && entry.inode) found = entry.inode->mtime_ns;
    return true;
  };
  REQUIRE(fs.table().scan_namespace(visitor));
  return found;
}

}  // namespace

TEST_CASE("a large file whose time was yet to come has another in its row as soon as it is overwritten") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  FileSystemOptions options = quiet();
  const auto clock = std::make_shared<ManualClock>();
  clock->pass_ms(1'000'000);
  options.clock = clock;
  auto fs = std::move(*FileSystem::open(store, options));
  const auto made = fs->mknod(kRootInode, "large", S_IFREG | 0600, 0, kRoot);
  REQUIRE(made);
  REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(2u << 20, 'a')), kRoot));
  AttributeChange change;
  change.mtime_ns = clock->now_ns() + 3'600'000'000'000;
  REQUIRE(fs->setattr(made->ino, change, kRoot));
  REQUIRE(mtime_in_row(*fs, made->ino) == change.mtime_ns);
  REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(100, 'b')), kRoot));
  CHECK(mtime_in_row(*fs, made->ino) == clock->now_ns());
}

}  // namespace cffs::test
