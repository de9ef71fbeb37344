// Random operation sequences on the library, against the in-memory reference.
#include <catch2/catch.hpp>

#include "core/inspect/consistency.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "tests/model/library_surface.h"
#include "tests/model/random_operations.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

// Tiny thresholds: every few writes cross a home.
StoreFormat tiny() {
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 4096;
  format.composite_max = 16384;
  return format;
}

FileSystemOptions quiet_options(const char* policy) {
  FileSystemOptions options;
  options.policy = grouping::make_policy(policy);
  options.background = false;
  options.nameless_bytes = 5000;
  return options;
}

void run(const char* policy, const StoreFormat& format, std::optional<NameHash> hash, std::uint64_t seed,
         int operations, bool regroups = false) {
  MemoryStore store;
  FileSystemOptions options = quiet_options(policy);
  options.name_hash = hash;
  if (seed % 2 == 1) options.awake_nodes = kSleepy;
  LibrarySurface surface(store, options, &format);
  if (seed % 2 == 1) surface.remember(100);
  if (regroups) surface.regroup_as_well();
  SequenceOptions sequence;
  sequence.seed = seed;
  sequence.operations = operations;
  sequence.reopen_every = 500;
  REQUIRE(run_random_operations(surface, sequence) == "");
  surface.forget_all_but(0);
  const auto problems = find_inconsistencies(surface.fs());
  REQUIRE(problems);
  INFO("seed " << seed);
  REQUIRE(*problems == std::vector<std::string>{});
}

}  // namespace

TEST_CASE("library: random operations, directory policy, tiny homes") {
  for (const std::uint64_t seed : seeds(12)) run("directory", tiny(), std::nullopt, seed, 2500);
}

TEST_CASE("library: random operations, no policy, tiny homes") {
  for (const std::uint64_t seed : seeds(6)) run("none", tiny(), std::nullopt, seed, 2500);
}

TEST_CASE("library: random operations, regrouped by every policy in turn") {
  for (const std::uint64_t seed : seeds(8)) run("reference", tiny(), std::nullopt, seed, 2500, true);
}

TEST_CASE("library: random operations, default homes") {
  for (const std::uint64_t seed : seeds(4)) run("directory", StoreFormat{}, std::nullopt, seed, 2500);
}

TEST_CASE("library: random operations while all names collide") {
  // Every name of a directory in one row: the names decide, not the hashes.
  for (const std::uint64_t seed : seeds(6)) {
    run("directory", tiny(), NameHash::unkeyed().narrowed(0), seed, 2500);
  }
  for (const std::uint64_t seed : seeds(3)) {
    run("none", tiny(), NameHash::unkeyed().narrowed(3), seed, 2500);
  }
}

TEST_CASE("a member may be renamed into any directory") {
  // Its moved row begins with the directory's number; 129 encodes with the first byte of a composite's row.
  MemoryStore store;
  const StoreFormat format = tiny();
  LibrarySurface surface(store, quiet_options("directory"), &format);
  FileSystem& fs = surface.fs();
  Attributes directory;
  for (int i = 0; directory.ino.value % 128 != 1; ++i) {
    if (directory.ino.value != 0) fs.forget(directory.ino, 1);
    directory = *fs.mkdir(kRootInode, "d" + std::to_string(i), 0755, kRoot);
  }
  REQUIRE(surface.create("a", 0644) == 0);
  REQUIRE(surface.write("a", 0, "content") == 0);
  surface.reorganise();
  REQUIRE(fs.rename(kRootInode, "a", directory.ino, "b", RenameMode::replace, kRoot));
  fs.forget(directory.ino, 1);
  REQUIRE(collect_statistics(fs));
  REQUIRE(*find_inconsistencies(fs) == std::vector<std::string>{});
}

}  // namespace cffs::test
