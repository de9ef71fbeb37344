// A region store's device: what was prepared opens, or is refused in a sentence; it can be used, and what is shown lies where it may.
// The first byte says whether the store was closed; then pieces, each put to its place under a sum that is right:
//   0  a superblock: copy (u8)                     1  a region's head: region (u8)
//   2  an onode: index (u8), sector (u8)           3  a block of a mapping: its number (u16)
//   4  bytes of the checkpoint: offset (u16)       and for all of them a length (u8) and that many bytes, the rest of what is there stays
#include <algorithm>
#include <memory>
#include <vector>

#include "core/region/memory_device.h"
#include "core/region/recovery.h"
#include "core/region/region_store.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs;
using namespace cffs::region;
using Create = ObjectStore::Create;

constexpr std::uint64_t kBytes = std::uint64_t{5} << 20, kSum = 8;

std::string bytes_at(const BlockDevice& device, std::uint64_t offset, std::size_t n) {
  std::string bytes(n, '\0');
  CFFS_INVARIANT(device.read(offset, as_writable_bytes(bytes)));
  return bytes;
}

std::uint16_t u16(ByteReader& r) {
  const unsigned low = r.u8();
  return static_cast<std::uint16_t>(low | static_cast<unsigned>(r.u8()) << 8);
}

// The bytes of a store with a few objects, one of them in pieces.
std::string prepared(bool closed) {
  const auto medium = std::make_shared<MemoryDevice::Medium>(kBytes);
  MemoryDevice device(medium);
  RegionStore::Format format;
  format.region_bytes = std::uint64_t{1} << 20;
  format.large_bytes = 64 * 1024;
  CFFS_INVARIANT(RegionStore::format(device, format));
  auto store = std::move(*RegionStore::open(std::make_unique<MemoryDevice>(medium)));
  for (const char* name : {"a", "f/b", "f/c"}) {
    const auto object = *store->create(name, Create::exclusive);
    for (std::uint64_t i = 0; i < 30; ++i) CFFS_INVARIANT(object->write_at(i * 9000, as_bytes(name)));
    CFFS_INVARIANT(object->sync());
  }
  if (!closed) store->abandon();
  store.reset();
  return bytes_at(device, 0, kBytes);
}

class Image {
 public:
  explicit Image(const std::string& bytes)
      : medium_(std::make_shared<MemoryDevice::Medium>(kBytes)), device_(medium_) {
    CFFS_INVARIANT(device_.write(0, as_bytes(bytes)));
    superblock_ = *read_superblock(device_);
  }

  // False: there is no more.
  bool take_piece(ByteReader& r) {
    if (r.remaining() < 2) return false;
    const Geometry& g = superblock_.geometry;
    switch (r.u8() % 5) {
      case 0:
        put(r.u8() % 2 * kBlock, kSectorBytes, 0, 0, r);
        break;
      case 1: {
        const std::uint64_t region = r.u8() % g.regions;
        put(g.first_block(region) * kBlock, kSectorBytes, g.identity, region, r);
        break;
      }
      case 2: {
        const OnodeId id{0, r.u8() % std::min<std::uint32_t>(g.onodes, 8)};
        put(onode_offset(g, id, r.u8() % kOnodeSectors), kSectorBytes, g.identity, id.index, r);
        break;
      }
      case 3: {
        const std::uint64_t block = u16(r) % (kBytes / kBlock);
        put(block * kBlock, kBlock, g.identity, block, r);
        break;
      }
      default:
        change_checkpoint(r);
    }
    return r.ok();
  }

  // Looks at everything, changes something, closes.
  void use() {
    auto opened = RegionStore::open(std::make_unique<MemoryDevice>(medium_));
    if (!opened) return check_sentence(opened.error().message());
    const std::unique_ptr<RegionStore> store = std::move(*opened);
    const auto lock = store->lock("fuzz");
    if (!lock) return check_sentence(lock.error().message());
    if (const auto layout = store->layout()) {
      for (const std::string& damaged : layout->damaged) check_sentence(damaged);
    }
    const auto names = store->list("");
    if (!names) return;
    for (const std::string& name : *names) {
      CFFS_INVARIANT(name.find("..") == std::string::npos && !name.starts_with('/'));
      const auto object = store->open(name);
      if (!object) continue;
      const auto info = (*object)->info();
      std::string bytes(5000, 'x');
      (void)(*object)->read_at(8000, as_writable_bytes(bytes));
      if (info) (void)(*object)->read_at(info->size / 2, as_writable_bytes(bytes));
      (void)(*object)->append(as_bytes(std::string_view("more")));
      (void)(*object)->sync();
    }
    (void)store->create("new", Create::keep);
    (void)store->space();
    for (const std::string& name : *names) (void)store->remove(name);
    (void)store->sync_names();
  }

 private:
  static void check_sentence(const std::string& said) {
    CFFS_INVARIANT(!said.empty() && said.find('\x1b') == std::string::npos &&
                   said.find('\n') == std::string::npos);
  }
  // The piece that comes next, over what the sector or block has, with its sum.
  void put(std::uint64_t at, std::size_t size, std::uint64_t identity, std::uint64_t place, ByteReader& r) {
    std::string body = bytes_at(device_, at + kSum, size - kSum);
    over(body, 0, r);
    std::string seeded = body;
    ByteWriter seed(seeded);
    seed.u64(identity);
    seed.u64(place);
    std::string sealed;
    ByteWriter(sealed).u64(checksum(seeded));
    CFFS_INVARIANT(device_.write(at, as_bytes(sealed + body)));
  }
  static void over(std::string& bytes, std::size_t at, ByteReader& r) {
    const std::size_t n = std::min<std::size_t>(r.u8(), r.remaining());
    for (std::size_t i = 0; i < n; ++i, ++at) {
      const auto byte = static_cast<char>(r.u8());
      if (at < bytes.size()) bytes[at] = byte;
    }
  }
  void change_checkpoint(ByteReader& r) {
    const std::size_t at = u16(r);
    if (superblock_.checkpoint.size() != 1) return;
    const std::uint64_t where = superblock_.checkpoint.front().block * kBlock;
    std::string bytes = bytes_at(device_, where, superblock_.checkpoint_bytes);
    over(bytes, bytes.empty() ? 0 : at % bytes.size(), r);
    CFFS_INVARIANT(device_.write(where, as_bytes(bytes)));
    superblock_.checkpoint_sum = checksum(bytes);
    superblock_.version += 2;  // to the same place
    CFFS_INVARIANT(device_.write(superblock_.version % 2 * kBlock, as_bytes(encode(superblock_))));
  }

  const std::shared_ptr<MemoryDevice::Medium> medium_;
  MemoryDevice device_;
  Superblock superblock_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string closed = prepared(true), killed = prepared(false);
  if (size == 0) return 0;
  ByteReader r(fuzz::text_of(data + 1, size - 1));
  Image image(data[0] % 2 == 0 ? closed : killed);
  for (int pieces = 0; pieces < 12 && image.take_piece(r); ++pieces) continue;
  image.use();
  image.use();
  return 0;
}
