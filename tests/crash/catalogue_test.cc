// The catalogue and power cuts: whenever the power is cut, the store has a whole one, the one before or the new one.
#include "core/table/catalogue.h"

#include <catch2/catch.hpp>

#include "core/reorganise/cataloguing.h"
#include "tests/crash/crash_store.h"
#include "tests/crash/ticking_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

void make(FileSystem& fs, const std::string& prefix) {
  for (int i = 0; i < 300; ++i) {
    const auto made = fs.mknod(kRootInode, prefix + std::to_string(i), S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs.write(made->ino, 0, as_bytes(std::string(500, 'x')), kRoot));
    fs.forget(made->ino, 1);
  }
}

// How many names it has; it must be whole.
std::unique_ptr<FileSystem> fresh_in(ObjectStore& store) {
  FileSystemOptions options = quiet();
  options.clock = std::make_shared<TickingClock>();
  REQUIRE(FileSystem::format(store, repeatable(), *options.clock));
  return std::move(*FileSystem::open(store, options));
}

std::size_t names_in(ObjectStore& store) {
  std::size_t names = 0;
  CatalogueVisitor visitor;
  visitor.row = [&](InodeId, const Row& row) { names += row.entries.size(); };
  const auto reading = read_catalogue(store, visitor);
  REQUIRE(reading);
  REQUIRE(*reading);
  CHECK((*reading)->damage == std::vector<std::string>{});
  CHECK((*reading)->whole);
  return names;
}

}  // namespace

TEST_CASE("a catalogue half written is never taken for a whole one") {
  CrashStore store;
  const auto fs = fresh_in(store);
  make(*fs, "early");
  const auto always = [] { return true; };
  REQUIRE(write_catalogue(*fs, always));
  REQUIRE(store.sync_names());
  const std::size_t before = names_in(store);
  make(*fs, "late");
  std::vector<CrashMedium> media;
  store.on_change([&](const std::string&) { media.push_back(store.medium()); });
  REQUIRE(write_catalogue(*fs, always));
  store.on_change(nullptr);
  media.push_back(store.medium());
  const std::size_t after = names_in(store);
  CHECK(after == before + 300);
  CHECK(media.size() > 6);
  std::size_t old = 0, fresh = 0;
  for (const CrashMedium& medium : media) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CrashStore left(medium.cut(seed));
      const std::size_t names = names_in(left);
      ++(names == before ? old : fresh);
      CHECK((names == before || names == after));
    }
  }
  CHECK(old > 0);
  CHECK(fresh > 0);
}

TEST_CASE("a sync of the catalogue that fails leaves the one before, and the store as it is") {
  CrashStore store;
  const auto fs = fresh_in(store);
  make(*fs, "early");
  const auto always = [] { return true; };
  REQUIRE(write_catalogue(*fs, always));
  const std::size_t before = names_in(store);
  make(*fs, "late");
  store.fail_sync(1);
  CHECK_FALSE(write_catalogue(*fs, always));
  CHECK(names_in(store) == before);
  store.tear_write(1);
  CHECK_FALSE(write_catalogue(*fs, always));
  CHECK(names_in(store) == before);
  make(*fs, "still");
  REQUIRE(write_catalogue(*fs, always));
  CHECK(names_in(store) == before + 600);
}

}  // namespace cffs::test
