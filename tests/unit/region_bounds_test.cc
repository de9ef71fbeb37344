// Images that claim more than they hold: what is read for them, and kept, is bounded by what there is.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/base/checksum.h"
#include "core/region/file_device.h"
#include "core/region/memory_device.h"
#include "core/region/recovery.h"
#include "core/region/region_store.h"
#include "tests/unit/temporary_directory.h"
#include "tests/unit/watched_device.h"

namespace cffs::test {
namespace {

using namespace region;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Prepared {
  std::shared_ptr<WatchedDevice::State> state;
  WatchedDevice device;
  Superblock superblock;

  explicit Prepared(std::uint64_t region_bytes)
      : state(std::make_shared<WatchedDevice::State>(4 * region_bytes + kHeadBlocks * kBlock)),
        device(state) {
    REQUIRE(RegionStore::format(device, {region_bytes, 64 * 1024}));
    superblock = *read_superblock(device);
    state->bytes_read = state->largest_read = 0;
  }
  void write(std::uint64_t offset, const std::string& bytes) {
    REQUIRE(device.write(offset, as_bytes(bytes)));
  }
  // A checkpoint of these bytes in the first blocks that may have it.
  void put_checkpoint(const std::string& bytes) {
    const std::uint64_t at = superblock.geometry.first_block(0) + 100;
    write(at * kBlock, bytes);
    superblock.checkpoint = {{at, static_cast<std::uint32_t>((bytes.size() + kBlock - 1) / kBlock)}};
    superblock.checkpoint_bytes = bytes.size();
    superblock.checkpoint_sum = checksum(bytes);
  }
};

std::string heads_of(const Geometry& g, std::uint64_t begun) {
  std::string bytes;
  ByteWriter w(bytes);
  w.varint(1);
  w.varint(g.regions);
  for (std::uint64_t region = 0; region < g.regions; ++region) {
    w.u8(static_cast<std::uint8_t>(RegionKind::small));
    w.varint(1);
    w.varint(begun);
    w.varint(0);
    w.u8(0);
  }
  return bytes;
}

// A sparse image that says it has a few regions of 64 GiB, and holds next to nothing.
struct Sparse {
  TemporaryDirectory directory;
  std::string path = directory.path + "/image";
  Superblock superblock;
  std::unique_ptr<FileDevice> device;

  Sparse() {
    Geometry& g = superblock.geometry;
    g = {7, (1u << 24) - 1, 8, 128, 16};
    std::ofstream(path) << "";
    std::filesystem::resize_file(path, (kHeadBlocks + g.regions * g.region_blocks) * kBlock);
    superblock.version = 2;
    device = *FileDevice::open(path, FileDevice::Access::read_write);
  }
  Result<Recovered> recovered() {
    REQUIRE(write_superblock(*device, superblock));
    return recover(*device, *read_superblock(*device));
  }
};

}  // namespace

TEST_CASE("a region full of onodes is read in pieces") {
  Prepared prepared(16 * kMiB);
  const Geometry& g = prepared.superblock.geometry;
  RegionHead head{RegionKind::onodes, 10, static_cast<std::uint32_t>(g.onodes_in_onode_region()), 0};
  prepared.write(g.first_block(1) * kBlock, encode(head, g, 1));
  Onode onode;
  onode.version = 5;
  onode.name = "last";
  const OnodeId id{1, static_cast<std::uint32_t>(g.onodes_in_onode_region() - 1)};
  prepared.write(onode_offset(g, id, 0), encode(onode, g, id));
  prepared.superblock.clean = false;
  const auto found = recover(prepared.device, prepared.superblock);
  REQUIRE(found);
  REQUIRE(found->objects.size() == 1);
  CHECK(found->objects.front().id == id);
  CHECK(prepared.state->largest_read <= 4 * kMiB);
}

TEST_CASE("an onode of an earlier life of its region is not shown") {
  constexpr std::uint64_t kSince = 5;
  for (const std::uint64_t version : {kSince - 1, kSince, kSince + 1}) {
    INFO(version);
    Prepared prepared(kMiB);
    const Geometry& g = prepared.superblock.geometry;
    prepared.write(g.first_block(1) * kBlock, encode(RegionHead{RegionKind::small, 10, 8, kSince}, g, 1));
    Onode onode;
    onode.version = version;
    onode.name = "object";
    prepared.write(onode_offset(g, {1, 0}, 0), encode(onode, g, {1, 0}));
    prepared.superblock.clean = false;
    const auto found = recover(prepared.device, prepared.superblock);
    REQUIRE(found);
    CHECK(found->objects.size() == (version > kSince ? 1 : 0));
  }
}

TEST_CASE("runs of a checkpoint that are one another's, or more than its bytes take, are not read") {
  Prepared prepared(kMiB);
  Superblock& s = prepared.superblock;
  const auto all = static_cast<std::uint32_t>(s.geometry.regions * s.geometry.region_blocks);
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{24} * all * kBlock, ~std::uint64_t{0}}) {
    s.checkpoint.assign(24, Run{kHeadBlocks, all});
    s.checkpoint_bytes = bytes;
    prepared.state->bytes_read = 0;
    const auto found = recover(prepared.device, s);
    REQUIRE(found);
    CHECK(found->scanned);
    CHECK(prepared.state->bytes_read <= prepared.device.size());
    CHECK(prepared.state->largest_read <= 4 * kMiB);
  }
}

TEST_CASE("a checkpoint has no more objects than onodes, and these no more extents than fit") {
  Prepared prepared(kMiB);
  const Geometry& g = prepared.superblock.geometry;
  const auto is_believed = [&](const std::string& bytes) {
    prepared.put_checkpoint(bytes);
    const auto found = recover(prepared.device, prepared.superblock);
    REQUIRE(found);
    CHECK(found->damaged.size() <= 4 * g.onodes);
    CHECK(found->damaged_onodes.size() <= 4 * g.onodes);
    return !found->scanned;
  };
  const std::string nothing(200'000, '\0');  // onodes of no name, eight bytes each
  const auto with = [&](std::uint64_t begun, std::uint64_t damaged, std::uint64_t objects,
                        const std::string& rest) {
    std::string bytes = heads_of(g, begun);
    ByteWriter w(bytes);
    w.varint(damaged);
    bytes.append(2 * damaged, '\0');
    w.varint(objects);
    return bytes + rest;
  };
  CHECK(is_believed(with(g.onodes, 0, 0, "")));
  CHECK(is_believed(with(g.onodes, 4, 3, nothing)));
  CHECK_FALSE(is_believed(with(g.onodes, 0, 20'000, nothing)));
  CHECK_FALSE(is_believed(with(g.onodes, 20'000, 0, nothing)));
  CHECK_FALSE(is_believed(with(g.onodes + 1, 0, 0, "")));
  std::string object;
  ByteWriter w(object);
  for (int i = 0; i < 2; ++i) w.varint(0);  // id
  w.u8(0);
  for (int i = 0; i < 2; ++i) w.varint(1);  // versions
  w.u8(0);
  w.varint(0);  // size
  w.string("a");
  std::string few = object, many = object;
  ByteWriter(few).varint(1);
  ByteWriter(many).varint(60'000);
  CHECK(is_believed(with(g.onodes, 0, 1, few + nothing)));
  CHECK_FALSE(is_believed(with(g.onodes, 0, 1, many + nothing)));
}

TEST_CASE("a checkpoint that rotted is not read") {
  Prepared prepared(kMiB);
  std::string bytes = heads_of(prepared.superblock.geometry, 4);
  bytes.append(2, '\0');  // neither damaged onodes nor objects
  prepared.put_checkpoint(bytes);
  REQUIRE_FALSE(recover(prepared.device, prepared.superblock)->scanned);
  bytes.front() = 2;  // a version, too
  prepared.write(prepared.superblock.checkpoint.front().block * kBlock, bytes);
  CHECK(recover(prepared.device, prepared.superblock)->scanned);
}

TEST_CASE("a checkpoint for which there is no run long enough is in several, and is read") {
  const auto medium = std::make_shared<MemoryDevice::Medium>(std::uint64_t{9} << 20);
  {
    MemoryDevice device(medium);
    REQUIRE(RegionStore::format(device, {kMiB, 64 * 1024}));
  }
  const auto opened = [&] { return *RegionStore::open(std::make_unique<MemoryDevice>(medium)); };
  const std::string name(190, 'n');
  constexpr int kObjects = 300;
  {
    // Of what is full every tenth block comes free, beside what is kept for metadata.
    const auto store = opened();
    int made = 0;
    for (std::shared_ptr<Object> object;; ++made) {
      auto next = store->create(name + std::to_string(made), ObjectStore::Create::exclusive);
      if (!next || !(*next)->write_at(0, as_bytes(std::string(kBlock, 'x')))) break;
    }
    REQUIRE(made > kObjects);
    for (int i = 0; i < made; i += 10) REQUIRE(store->remove(name + std::to_string(i)));
  }
  const auto store = opened();
  const auto superblock = read_superblock(MemoryDevice(medium));
  REQUIRE(superblock->checkpoint.size() > 1);
  REQUIRE(store->list("")->size() > kObjects / 2);
  CHECK_FALSE(store->was_scanned());
}

TEST_CASE("an object that is larger than any can be is not shown") {
  Prepared prepared(kMiB);
  const Geometry& g = prepared.superblock.geometry;
  prepared.write(g.first_block(0) * kBlock, encode(RegionHead{RegionKind::small, 10, 4, 0}, g, 0));
  Onode onode;
  onode.version = 5;
  onode.name = "endless";
  onode.size = ~std::uint64_t{0} - 5;
  prepared.write(onode_offset(g, {0, 0}, 0), encode(onode, g, {0, 0}));
  onode.name = "large";  // and sparse
  onode.size = std::uint64_t{1} << 50;
  prepared.write(onode_offset(g, {0, 1}, 0), encode(onode, g, {0, 1}));
  prepared.superblock.clean = false;
  const auto found = recover(prepared.device, prepared.superblock);
  REQUIRE(found);
  REQUIRE(found->objects.size() == 1);
  CHECK(found->objects.front().onode.name == "large");
  CHECK(found->damaged.size() == 1);
}

TEST_CASE("what nobody has written of a sparse image is not read") {
  Sparse sparse;
  const Geometry& g = sparse.superblock.geometry;
  const RegionHead head{RegionKind::onodes, 10, static_cast<std::uint32_t>(g.onodes_in_onode_region()), 0};
  for (std::uint64_t region = 0; region < g.regions; ++region)
    REQUIRE(sparse.device->write(g.first_block(region) * kBlock, as_bytes(encode(head, g, region))));
  Onode onode;
  onode.version = 5;
  onode.name = "far";
  const OnodeId id{3, 10'000'000};
  REQUIRE(sparse.device->write(onode_offset(g, id, 1), as_bytes(encode(onode, g, id))));
  const auto found = sparse.recovered();
  REQUIRE(found);
  REQUIRE(found->objects.size() == 1);
  CHECK(found->objects.front().id == id);
  // Nor does a checkpoint lie there.
  sparse.superblock.clean = true;
  sparse.superblock.version += 1;
  sparse.superblock.checkpoint = {{kHeadBlocks + 200, 10'000'000}};
  sparse.superblock.checkpoint_bytes = 10'000'000 * kBlock;
  const auto again = sparse.recovered();
  REQUIRE(again);
  CHECK(again->scanned);
  CHECK(again->objects.size() == 1);
}

}  // namespace cffs::test
