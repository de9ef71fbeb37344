// Measuring the disk below a directory: numbers of a disk, nothing left behind, and a sentence where it cannot be.
#include "replay/analysis/disk_measure.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_directory.h"

namespace cffs::test {

TEST_CASE("a disk is measured, and nothing is left on it") {
  const TemporaryDirectory directory;
  // As if it were a store: a composite that is too small to measure in, and something that is none.
  std::filesystem::create_directories(directory.path + "/composites/00");
  std::ofstream(directory.path + "/composites/00/1") << std::string(3 << 20, 'x');
  std::filesystem::create_directory_symlink("/", directory.path + "/composites/elsewhere");
  const auto disk = replay::measure_disk(directory.path);
  if (!disk && disk.error().errno_value == EINVAL) return;  // no reads past the memory here
  REQUIRE(disk);
  CHECK(disk->name == "this");
  CHECK(disk->seek_ms > 0.0005);
  CHECK(disk->seek_ms < 1000);
  CHECK(disk->bytes_per_second > 1e4);
  CHECK(disk->exchange_bytes() > 0);
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path))
    entries += !entry.path().empty();
  CHECK(entries == 1);
}

TEST_CASE("what cannot be measured is told in a sentence that names it") {
  CHECK(replay::measure_disk("/nowhere/at/all").error().message().find("/nowhere/at/all") !=
        std::string::npos);
  CHECK(replay::measure_disk("/dev/null").error().message().find("no directory") != std::string::npos);
  CHECK_FALSE(replay::measure_disk("/proc"));
}

}  // namespace cffs::test
