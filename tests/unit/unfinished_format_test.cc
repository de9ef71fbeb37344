// A format that was killed at any moment: the same one again makes the store, and nobody's files go for it.
#include "core/fs/unfinished_format.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "core/fs/file_system.h"
#include "core/fs/store_format.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/object/posix_store.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

Status format_in(ObjectStore& store) { return FileSystem::format(store, repeatable(), SystemClock()); }

std::set<std::string> object_names(ObjectStore& store) {
  const auto names = store.list("");
  REQUIRE(names);
  return {names->begin(), names->end()};
}

void put_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// What lies there, but for LevelDB's numbers.
std::set<std::string> whole_store() {
  MemoryStore store;
  REQUIRE(format_in(store));
  return object_names(store);
}

Status format_at(const std::string& path) {
  CFFS_TRY(const auto store, PosixStore::open_directory(path));
  return format_in(*store);
}

}  // namespace

TEST_CASE("a format that ended at any operation is none, and the next one makes the store", "[format]") {
  const std::set<std::string> whole = whole_store();
  bool was_cut = true;
  for (std::uint64_t operation = 1; was_cut; ++operation) {
    FaultyStore store;
    store.tear_failed_writes(operation % 2 == 0);
    store.fail_operation(operation, EIO, FaultyStore::Persistence::from_then_on);
    was_cut = !format_in(store);
    store.fail_operation(0, 0, FaultyStore::Persistence::once);
    CAPTURE(operation);
    // The last operation, which makes names durable, is behind the rename: then it is a store.
    const bool is_store = *store.exists("superblock");
    if (!is_store) {
      const auto opened = FileSystem::open(store, quiet());
      REQUIRE(!opened);
      CHECK(opened.error().kind == ErrorKind::usage);
      CHECK(opened.error().errno_value == ENOENT);
      const auto restored = restore_format(store);
      CHECK((restored && !*restored));
      const Status again = format_in(store);
      CAPTURE(again ? std::string() : again.error().message());
      REQUIRE(again);
    }
    CHECK(object_names(store) == whole);
    auto fs = FileSystem::open(store, quiet());
    REQUIRE(fs);
    REQUIRE((*fs)->close());
  }
}

TEST_CASE("a format that was killed at any moment is begun anew by the next", "[format]") {
  std::mt19937 random(5);
  TemporaryDirectory whole;
  REQUIRE(format_at(whole.path));
  const auto names = object_names(**PosixStore::open_directory(whole.path));
  for (int round = 0; round < 100; ++round) {
    TemporaryDirectory place;
    const pid_t child = ::fork();
    if (child == 0) {
      (void)format_at(place.path);
      ::pause();
    }
    ::usleep(static_cast<useconds_t>(random() % 15000));
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    const Status again = format_at(place.path);
    CAPTURE(round, again ? std::string() : again.error().message());
    REQUIRE((again || again.error().errno_value == EEXIST));
    const auto store = std::move(*PosixStore::open_directory(place.path));
    CHECK(object_names(*store) == names);
    CHECK(read_format(*store).has_value());
  }
}

TEST_CASE("where anything of somebody's lies no store is made, and all stays as it was", "[format]") {
  const auto [name, text, is_begun] = GENERATE(table<std::string, std::string, bool>({
      {"notes", "text", false},
      {"notes", "text", true},
      {"papers/1", "text", true},
      {"backup/photo", "mine", true},
      {"plan/notes", "mine", true},
      {"values", "mine", true},
      {"lock", "somebody's text", false},
      {"followers", "text", false},
      {"table/000005.ldb", "rows", false},
      {"blobs/0/1", "data", false},
      {"backup", "mine", false},
      {"superblock.copy", "text", false},
  }));
  CAPTURE(name, is_begun);
  TemporaryDirectory place;
  std::filesystem::create_directories(std::filesystem::path(place.path + "/" + name).parent_path());
  put_file(place.path + "/" + name, text);
  if (is_begun) put_file(place.path + "/" + kUnfinishedSuperblock, "");
  const auto before = object_names(**PosixStore::open_directory(place.path));
  const Status refused = format_at(place.path);
  REQUIRE(!refused);
  CHECK(refused.error().errno_value == ENOTEMPTY);
  const auto store = std::move(*PosixStore::open_directory(place.path));
  CHECK(object_names(*store) == before);
  CHECK(bytes_of(*store, name) == text);
}

TEST_CASE("a store that is being filled is none, and what is left of it goes with the next format",
          "[format]") {
  MemoryStore store;
  REQUIRE(format_in(store));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  REQUIRE(set_superblock_aside(store));
  CHECK(!*store.exists("superblock"));
  SECTION("it is one when it is whole") {
    REQUIRE(fs->close());
    REQUIRE(put_superblock_back(store));
    CHECK(FileSystem::open(store, quiet()).has_value());
  }
  SECTION("who filled it was killed") {
    fs.reset();
    for (const char* left : {"blobs/0/7", "repair.unfinished", "backup", "copying"})
      replace(store, left, "half of it");
    const auto opened = FileSystem::open(store, quiet());
    REQUIRE(!opened);
    CHECK(opened.error().errno_value == ENOENT);
    CHECK(!restore_format(store).value());
    REQUIRE(format_in(store));
    CHECK(object_names(store) == whole_store());
  }
}

TEST_CASE("who begins a store anew is told what it was to be", "[format]") {
  StoreFormat wanted = usual_format({Codec::zstd, 5});
  wanted.dedupe = true;
  wanted.inline_max = 2048;
  MemoryStore store;
  REQUIRE(FileSystem::format(store, wanted, SystemClock()));
  CHECK(!*FileSystem::begun_format(store));  // it is one
  {
    const auto fs = std::move(*FileSystem::open(store, quiet()));
    REQUIRE(set_superblock_aside(store));
    const auto in_use = FileSystem::begun_format(store);
    REQUIRE(!in_use);
    CHECK(in_use.error().errno_value == EBUSY);
  }
  const auto begun = FileSystem::begun_format(store);
  REQUIRE((begun && *begun));
  CHECK((*begun)->compression == wanted.compression);
  CHECK((*begun)->dedupe);
  CHECK((*begun)->inline_max == 2048);
  CHECK((*begun)->composite_max == wanted.composite_max);
  CHECK(!(*begun)->name_hash);   // a new store has a key of its own
  REQUIRE(begin_format(store));  // killed here, there is nothing to be told
  CHECK(!*FileSystem::begun_format(store));
}

TEST_CASE("what a disk's own folder has keeps no store from being made", "[format]") {
  TemporaryDirectory place;
  std::filesystem::create_directory(place.path + "/lost+found");
  put_file(place.path + "/lost+found/#12", "found");
  REQUIRE(format_at(place.path));
  CHECK(std::filesystem::exists(place.path + "/lost+found/#12"));
}

}  // namespace cffs::test
