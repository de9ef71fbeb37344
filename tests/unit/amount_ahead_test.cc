// What a transfer has before it, counted: as much as the transfer then says that it did.
#include "core/transfer/amount_ahead.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/object/memory_store.h"
#include "core/transfer/archive_import.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/export.h"
#include "core/transfer/import_target.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

namespace fs = std::filesystem;

void make_file(const fs::path& path, std::size_t bytes) {
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
}

// Five files in all, of which one is a link and one is in a directory that patterns may leave out.
std::string make_source(const TemporaryDirectory& base) {
  const fs::path top = fs::path(base.path) / "source";
  fs::create_directories(top / "a/b");
  fs::create_directories(top / "skipped");
  make_file(top / "one", 1000);
  make_file(top / "a/two", 20'000);
  make_file(top / "a/b/large", 3'000'000);
  fs::create_symlink("two", top / "a/link");
  make_file(top / "skipped/three", 500);
  return top;
}

TransferAmount amount_of(const AmountAhead::Count& count) {
  const std::atomic<bool> stop{false};
  const auto amount = count(stop);
  REQUIRE(amount);
  return *amount;
}

}  // namespace

TEST_CASE("directories are counted as an import takes them, and a store as an export does", "[transfer]") {
  const TemporaryDirectory base;
  const std::string source = make_source(base);
  const TransferAmount all = amount_of(count_sources({source}, {}));
  CHECK(all.files == 5);
  CHECK(all.bytes == 3'021'500);
  CHECK(amount_of(count_sources({source + "/"}, Excludes({"/skipped/"}))).files == 4);
  CHECK(amount_of(count_sources({source}, Excludes({"a/b"}))).bytes == 21'500);
  CHECK(amount_of(count_sources({source, source + "/a"}, {})).files == 8);

  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto files = std::move(*FileSystem::open(store, quiet()));
  ImportTarget target(*files, 2, nullptr);
  REQUIRE(import_directory(source, target));
  const ImportReport imported = target.finish().value();
  CHECK(imported.files + imported.symlinks == all.files);
  CHECK(imported.bytes == all.bytes);
  const TransferAmount stored = amount_of(count_tree(*files, "", {}));
  CHECK(stored.files == all.files);
  CHECK(stored.bytes == all.bytes);
  CHECK(amount_of(count_tree(*files, "a", Excludes({"b"}))).files == 2);
  const std::atomic<bool> stop{false};
  CHECK_FALSE(count_tree(*files, "nothing", {})(stop));

  // Once more, and all is there already.
  ImportTarget again(*files, 2, nullptr);
  REQUIRE(import_directory(source, again));
  const ImportReport same = again.finish().value();
  CHECK(same.same == all.files);
  CHECK(same.same_bytes == all.bytes);
}

TEST_CASE("of an archive the bytes of its file are known, and how many of them were read", "[transfer]") {
  const TemporaryDirectory base;
  const std::string source = make_source(base);
  for (const char* const how : {"tar -cf", "tar -czf"}) {
    const std::string archive = base.path + "/archive.tar";
    REQUIRE(std::system((std::string(how) + " " + archive + " -C " + source + " .").c_str()) == 0);
    const TransferAmount all = amount_of(count_sources({archive}, {}));
    CHECK(all.files == 0);
    CHECK(all.bytes == fs::file_size(archive));
    MemoryStore store;
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    const auto files = std::move(*FileSystem::open(store, quiet()));
    ImportTarget target(*files, 2, nullptr);
    REQUIRE(import_archive(archive, target));
    const ImportReport report = target.finish().value();
    CHECK(report.archive_bytes > 0);
    CHECK(report.archive_bytes <= all.bytes);
  }
}

TEST_CASE("what cannot be counted has no amount", "[transfer]") {
  const TemporaryDirectory base;
  const std::string source = make_source(base);
  const std::atomic<bool> stop{false}, stopped{true};
  CHECK_FALSE(count_sources({"-"}, {})(stop));
  CHECK_FALSE(
      count_sources({source, source + "/one"}, {})(stop));  // files and bytes of an archive: no one unit
  CHECK_FALSE(count_sources({base.path + "/nothing"}, {})(stop));
  CHECK_FALSE(count_sources({source}, {})(stopped));
}

TEST_CASE("a count that is not waited for is stopped", "[transfer]") {
  std::atomic<bool> begun{false};
  {
    const AmountAhead ahead([&](const std::atomic<bool>& stop) -> std::optional<TransferAmount> {
      begun = true;
      while (!stop) std::this_thread::yield();
      return std::nullopt;
    });
    while (!begun) std::this_thread::yield();
    CHECK_FALSE(ahead.amount());
  }
  const AmountAhead counted([](const std::atomic<bool>&) { return TransferAmount{3, 5}; });
  while (!counted.amount()) std::this_thread::yield();
  CHECK(counted.amount()->files == 3);
}

}  // namespace cffs::test
