// A million objects on an image: how long it takes to find them again, and what they cost in memory. Not among the tests of every
// day: unit_tests '[million]'; CFFS_OBJECTS=n for another number, TMPDIR for another disk.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/region/file_device.h"
#include "core/region/region_store.h"

namespace cffs::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

std::unique_ptr<RegionStore> opened(const std::string& image) {
  return *RegionStore::open(*FileDevice::open(image, FileDevice::Access::read_write));
}

// As after a boot.
void forget(const std::string& image) {
  const int fd = ::open(image.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::fsync(fd) == 0);
  REQUIRE(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
  ::close(fd);
}

std::uint64_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

}  // namespace

TEST_CASE("a million objects are found again", "[.][million]") {
  const char* wanted = std::getenv("CFFS_OBJECTS");
  const std::uint64_t count = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 1'000'000;
  const char* parent = std::getenv("TMPDIR");
  std::string directory = std::string(parent != nullptr ? parent : "/tmp") + "/cffs-million.XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string image = directory + "/image";
  std::ofstream(image) << "";
  std::filesystem::resize_file(image, std::uint64_t{64} << 30);  // sparse
  REQUIRE(RegionStore::format(**FileDevice::open(image, FileDevice::Access::read_write), {}));
  const auto name_of = [](std::uint64_t i) {
    return "blobs/" + std::to_string(i / 10000) + "/" + std::to_string(i);
  };
  const std::string bytes(5000, 'b');
  {
    const auto store = opened(image);
    const auto start = SteadyClock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto object = store->create(name_of(i), ObjectStore::Create::exclusive);
      REQUIRE(object);
      REQUIRE((*object)->write_at(0, as_bytes(bytes)));
    }
    std::cout << count << " objects made in " << seconds_since(start) << " s";
    const auto commit = SteadyClock::now();
    REQUIRE(store->sync_everything());
    std::cout << ", made durable in " << seconds_since(commit) << " s\n";
    store->abandon();
  }
  for (const char* end : {"killed", "closed"}) {
    forget(image);
    const auto start = SteadyClock::now();
    const auto store = opened(image);
    REQUIRE(*store->exists(name_of(count - 1)));
    std::cout << end << ": opened " << (store->was_scanned() ? "by a scan" : "by its checkpoint") << " in "
              << seconds_since(start) << " s, " << resident_kilobytes() / 1024 << " MiB resident\n";
    REQUIRE(store->list("")->size() == count);
    const auto lock = store->lock("million");  // closes in good order
    REQUIRE(lock);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace cffs::test
