// What is read where a tree is warmed, and how much memory there is for it.
#include "core/warm/warming.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/base/control_groups.h"
#include "core/object/memory_store.h"
#include "core/object/posix_store.h"
#include "core/warm/memory_room.h"
#include "core/warm/placed_data.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {

TEST_CASE("room in memory is the machine's and the control groups', the less (control_groups_test.cc)") {
  CHECK(available_in("MemTotal: 10 kB\nMemAvailable:    2048 kB\n") == std::uint64_t{2048} << 10);
  CHECK_FALSE(available_in("MemTotal: 10 kB\n"));
  CHECK(memory_room() > 0);
}

TEST_CASE("a warming reads what the paths need, up to what may be filled") {
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  auto fs = std::move(*FileSystem::open(objects, quiet()));
  const InodeId d = fs->mkdir(kRootInode, "d", 0755, kRoot)->ino;
  const std::string large(5'000'000, 'l');
  for (const InodeId in : {kRootInode, d}) {
    const auto made = fs->mknod(in, "large", S_IFREG | 0644, 0, kRoot);
    REQUIRE(fs->write(made->ino, 0, as_bytes(large), kRoot));
    REQUIRE(fs->mknod(in, "empty", S_IFREG | 0644, 0, kRoot));
  }
  REQUIRE(fs->sync());
  const auto whole = warm_store(objects, *fs, {""}, {});
  REQUIRE(whole);
  CHECK(whole->names == 5);
  CHECK(whole->directories == 2);
  CHECK(whole->bytes >= 10'000'000);
  CHECK(whole->bytes == whole->bytes_in_all);
  const auto part = warm_store(objects, *fs, {"d", "d/large", "/d/"}, {});
  REQUIRE(part);
  CHECK(part->directories == 1);
  CHECK(part->bytes == 5'000'000);  // once, however often it is named
  CHECK(warm_store(objects, *fs, {"large"}, {})->bytes == 5'000'000);
  WarmOptions options;
  options.most_bytes = 2'500'000;
  const auto stopped = warm_store(objects, *fs, {"d"}, options);
  CHECK(stopped->memory_full);
  CHECK(stopped->bytes == 2u << 20);
  options = {};
  options.metadata_only = true;
  CHECK(warm_store(objects, *fs, {"d"}, options)->bytes == 0);
  options.go_on = [] { return false; };
  CHECK(warm_store(objects, *fs, {"d"}, options).error().errno_value == EINTR);
  CHECK_FALSE(warm_store(objects, *fs, {"none"}, {}));
  CHECK(find_data_order(*fs, {""})->size() == 2);
  CHECK(find_data_order(*fs, {""}, options.go_on).error().errno_value == EINTR);
}

// As many pieces as there is data: of the holes alone memory would have been full.
TEST_CASE("a warming passes holes by") {
  const TemporaryDirectory directory;
  const auto objects = std::move(*PosixStore::open_directory(directory.path));
  REQUIRE(FileSystem::format(*objects, repeatable(), SystemClock()));
  auto fs = std::move(*FileSystem::open(*objects, quiet()));
  const auto made = fs->mknod(kRootInode, "sparse", S_IFREG | 0644, 0, kRoot);
  const std::string data(3u << 20, 'd');
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{1} << 38, std::uint64_t{1} << 40})
    REQUIRE(fs->write(made->ino, at, as_bytes(data), kRoot));
  REQUIRE(fs->sync());
  WarmOptions options;
  options.most_bytes = 64u << 20;
  const auto report = warm_store(*objects, *fs, {"sparse"}, options);
  REQUIRE(report);
  CHECK(report->problems.empty());
  CHECK_FALSE(report->memory_full);
  CHECK(report->bytes == report->bytes_in_all);
  CHECK(report->bytes >= 3 * data.size());
  CHECK(report->bytes < (64u << 20));
}

}  // namespace cffs::test
