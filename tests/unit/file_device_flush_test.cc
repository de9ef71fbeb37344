// A device of the kernel's whose writeback fails: the kernel says so once, and everybody who flushes is told.
#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/region/file_device.h"
#include "core/region/flushes.h"
#include "core/region/region_store.h"
#include "tests/unit/failing_writeback.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::array kRanges{DeviceRange{0, 4096}, DeviceRange{8192, 4096}};

struct Image {
  TemporaryDirectory directory;
  std::string path = directory.path + "/image";

  Image() {
    std::ofstream(path) << "";
    std::filesystem::resize_file(path, std::uint64_t{1} << 20);
  }
  std::unique_ptr<FileDevice> opened() const {
    return *FileDevice::open(path, FileDevice::Access::read_write);
  }
};

void check_failed(const Status& done, int reason) {
  REQUIRE(!done);
  CHECK(done.error().errno_value == reason);
}

}  // namespace

TEST_CASE("file device: one flush that failed, and all that follow fail, until it is opened again") {
  const Image image;
  const int reason = GENERATE(EIO, ENOSPC, EDQUOT);
  for (const bool waits : {false, true}) {
    const auto device = image.opened();
    REQUIRE(device->write(0, as_bytes("x")));
    failing_waits_only = waits;
    failing_writeback = reason;
    check_failed(device->flush(kRanges), reason);
    failing_waits_only = false;
    REQUIRE(failing_writeback == 0);
    check_failed(device->flush(kRanges), reason);
    check_failed(device->flush_everything(), reason);
    CHECK(image.opened()->flush(kRanges));
  }
}

TEST_CASE("file device: a writeback that failed when it was begun is told by every flush that follows") {
  const Image image;
  const int reason = GENERATE(EIO, ENOSPC, EDQUOT);
  const auto device = image.opened();
  REQUIRE(device->write(0, as_bytes("x")));
  failing_writeback = reason;
  device->begin_write_back(kRanges[0]);
  REQUIRE(failing_writeback == 0);
  check_failed(device->flush_everything(), reason);
  check_failed(device->flush(kRanges), reason);
  const auto other = image.opened();
  for (const int harmless :
       {EINVAL, ESPIPE, ENOSYS, ENOMEM}) {  // a file system that cannot, a moment without memory
    failing_writeback = harmless;
    other->begin_write_back(kRanges[0]);
    CHECK(other->flush(kRanges));
  }
}

TEST_CASE("file device: a flush beside one that fails does not end before that is known") {
  const Image image;
  for (const bool everything : {false, true}) {
    for (const bool hint : {false, true}) {
      INFO("everything " << everything << ", hint " << hint);
      const auto device = image.opened();
      REQUIRE(device->write(0, as_bytes("x")));
      failing_writeback_ms = 100;
      failing_waits_only = !hint;
      failing_writeback = EIO;
      Status first;
      std::thread early([&] {
        if (hint)
          device->begin_write_back(kRanges[0]);
        else
          first = device->flush(kRanges);
      });
      while (failing_writeback != 0)
        std::this_thread::yield();  // it is in the kernel, which has dropped the pages
      const Status done = everything ? device->flush_everything() : device->flush(kRanges);
      early.join();
      failing_writeback_ms = 0;
      failing_waits_only = false;
      check_failed(done, EIO);
      if (!hint) check_failed(first, EIO);
    }
  }
}

TEST_CASE("file device: what memory forgets has been written, or stays") {
  const Image image;
  const auto device = image.opened();
  REQUIRE(device->write(0, as_bytes("durable")));
  REQUIRE(device->flush_everything());
  REQUIRE(device->write(4096, as_bytes("unflushed")));
  device->forget_memory();
  std::string bytes(4105, '\0');
  REQUIRE(device->read(0, as_writable_bytes(bytes)));
  CHECK(bytes.substr(0, 7) == "durable");
  CHECK(bytes.substr(4096) == "unflushed");
}

TEST_CASE("file device: a store whose flush failed is opened as it was synced, and again and again") {
  const Image image;
  std::filesystem::resize_file(image.path, std::uint64_t{9} << 20);
  REQUIRE(RegionStore::format(*image.opened(), {std::uint64_t{1} << 20, 64 * 1024}));
  const auto opened = [&image] { return *RegionStore::open(image.opened()); };
  const std::string synced(100'000, 's');
  {
    const auto store = opened();
    const auto object = *store->create("synced", ObjectStore::Create::exclusive);
    REQUIRE(object->append(as_bytes(synced)));
    REQUIRE(object->sync());
    const auto other = *store->create("other", ObjectStore::Create::exclusive);
    REQUIRE(other->append(as_bytes(synced)));
    failing_writeback = EIO;
    CHECK(!other->sync());
    CHECK(!object->sync());
    store->abandon();
  }
  for (const bool closes : {false, false, true, true}) {
    const auto store = opened();
    auto lock = store->lock("next");
    REQUIRE(lock);
    CHECK(*store->list("") == std::vector<std::string>{"synced"});
    std::string bytes(synced.size(), '\0');
    REQUIRE((*store->open("synced"))->read_at(0, as_writable_bytes(bytes)));
    CHECK((bytes == synced));
    if (!closes) store->abandon();
  }
}

TEST_CASE("file device: flushes beside each other end, and none waits for one that began later") {
  const Image image;
  const auto device = image.opened();
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&device, &done, t] {
      for (int i = 0; i < 20; ++i) {
        const std::array range{DeviceRange{t * 4096, 4096}};
        if (device->write(t * 4096, as_bytes("x")) && device->flush(range)) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(done == 160);
  Flushes flushes;
  const Flushes::Turn early = flushes.begin(), mine = flushes.begin();
  flushes.end(early, 0);
  (void)mine;
  const Flushes::Turn late = flushes.begin();
  flushes.end(late, 0);
  CHECK(flushes.end_and_ask(mine, 0) == 0);
}

}  // namespace cffs::test
