// One contract for all block devices (core/region/block_device.h).
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/region/file_device.h"
#include "core/region/incarnation.h"
#include "core/region/memory_device.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;

std::string made_image(const TemporaryDirectory& directory, const std::string& name = "image") {
  std::string path = directory.path + "/" + name;
  std::ofstream(path) << "";
  std::filesystem::resize_file(path, kBytes);
  return path;
}

std::string read_at(const BlockDevice& device, std::uint64_t offset, std::size_t bytes) {
  std::string out(bytes, 'x');
  REQUIRE(device.read(offset, as_writable_bytes(out)));
  return out;
}

}  // namespace

TEST_CASE("block device contract") {
  const TemporaryDirectory directory;
  const auto medium = std::make_shared<MemoryDevice::Medium>(kBytes);
  const std::string image = made_image(directory);
  const bool in_memory = GENERATE(true, false);
  const auto open = [&]() -> std::unique_ptr<BlockDevice> {
    if (in_memory) return std::make_unique<MemoryDevice>(medium);
    return *FileDevice::open(image, FileDevice::Access::read_write);
  };
  const auto device = open(), other = open();
  REQUIRE(device->size() == kBytes);
  REQUIRE(device->incarnation() == other->incarnation());
  REQUIRE(device->write(1000, as_bytes("across a block's end")));
  REQUIRE(read_at(*other, 1000, 20) == "across a block's end");
  REQUIRE(read_at(*device, 998, 4) == std::string("\0\0ac", 4));
  const std::array ranges{DeviceRange{512, 1024}, DeviceRange{8192, 4096}};
  REQUIRE(device->flush(ranges));
  REQUIRE(device->flush({}));
  REQUIRE(device->flush_everything());
  std::string out(20, 'x');
  REQUIRE(device->read_medium(1000, as_writable_bytes(out)));
  REQUIRE(out == "across a block's end");
  REQUIRE(device->try_read(1000, as_writable_bytes(out)));
  device->prefetch({0, kBytes});
  device->begin_write_back({0, kBytes});
  if (const auto share = device->share_in_memory({0, 4096})) REQUIRE((*share >= 0 && *share <= 1));
  // At its end, and behind it.
  REQUIRE(device->write(kBytes - 3, as_bytes("end")));
  REQUIRE(read_at(*device, kBytes - 3, 3) == "end");
  REQUIRE(device->read(kBytes - 3, as_writable_bytes(out)).error().errno_value == EIO);
  REQUIRE(device->write(kBytes - 2, as_bytes("end")).error().errno_value == EIO);
  REQUIRE(device->write(~std::uint64_t{0} - 1, as_bytes("end")).error().errno_value == EIO);
  REQUIRE(read_at(*device, kBytes - 3, 3) == "end");
  {
    const auto writer = device->lock(true);
    REQUIRE(writer);
    REQUIRE(other->lock(true).error().errno_value == EBUSY);
    REQUIRE(other->lock(false).error().errno_value == EBUSY);
  }
  const auto reader = device->lock(false), second = other->lock(false);
  REQUIRE((reader && second));
  REQUIRE(other->lock(true).error().errno_value == EBUSY);
}

TEST_CASE("an image that may only be read, and what is no image") {
  const TemporaryDirectory directory;
  const std::string image = made_image(directory);
  const auto device = FileDevice::open(image, FileDevice::Access::read_only);
  REQUIRE(device);
  REQUIRE((*device)->is_read_only());
  REQUIRE((*device)->write(0, as_bytes("x")).error().errno_value == EROFS);
  REQUIRE((*device)->lock(true).error().errno_value == EROFS);
  REQUIRE((*device)->lock(false));
  REQUIRE(FileDevice::open(directory.path, FileDevice::Access::read_only).error().kind == ErrorKind::usage);
  REQUIRE(FileDevice::open("/dev/null", FileDevice::Access::read_only).error().kind == ErrorKind::usage);
  REQUIRE(FileDevice::open(directory.path + "/none", FileDevice::Access::read_only).error().errno_value ==
          ENOENT);
  // A copy is another attachment: what the original was given and not flushed is nothing to it.
  std::filesystem::copy_file(image, directory.path + "/copy");
  REQUIRE((*FileDevice::open(directory.path + "/copy", FileDevice::Access::read_only))->incarnation() !=
          (*device)->incarnation());
  REQUIRE(::chmod(image.c_str(), 0666) == 0);
  REQUIRE(!(*FileDevice::open(image, FileDevice::Access::read_only))->is_private());
  REQUIRE((*device)->is_private());
  if (::geteuid() != 0) return;
  REQUIRE(::chown(image.c_str(), 12345, 12345) == 0);
  REQUIRE(FileDevice::open(image, FileDevice::Access::read_only).error().kind == ErrorKind::usage);
  REQUIRE(FileDevice::open(image, FileDevice::Access::read_only, FileDevice::Owners::anybody));
}

TEST_CASE("the attachment of a partition is its disk's, that of a mount without a disk is its source's") {
  const TemporaryDirectory directory;
  const std::string disk = directory.path + "/devices/block/sdb", numbers = directory.path + "/dev/block";
  std::filesystem::create_directories(disk + "/sdb1");
  std::filesystem::create_directories(numbers);
  std::ofstream(disk + "/diskseq") << "12\n";
  std::filesystem::create_directory_symlink("../../devices/block/sdb", numbers + "/8:16");
  std::filesystem::create_directory_symlink("../../devices/block/sdb/sdb1", numbers + "/8:17");
  CHECK(attachment_of(makedev(8, 16), numbers) == "12");
  CHECK(attachment_of(makedev(8, 17), numbers) == "12");
  CHECK(attachment_of(makedev(0, 53), numbers).empty());
  std::ofstream(disk + "/diskseq") << "13\n";
  CHECK(attachment_of(makedev(8, 17), numbers) == "13");
  const std::string list = directory.path + "/mountinfo";
  std::ofstream(list) << "4 1 0:40 / /mnt rw shared:1 - btrfs /dev/sdb1 rw\n"
                         "41 1 0:41 / /mnt/a rw - overlay overlay rw\n"
                         "5 1\n";
  CHECK(source_of_mount(4, list) == "/dev/sdb1");
  CHECK(source_of_mount(41, list) == "overlay");
  CHECK(source_of_mount(5, list).empty());
  CHECK(source_of_mount(6, list).empty());
}

}  // namespace cffs::test
