#include "core/region/layout.h"

#include <algorithm>
#include <bit>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace cffs::region {
namespace {

constexpr std::string_view kMagic = "cffsregn";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kSumBytes = 8;
constexpr std::size_t kEntryBytes = 16;
constexpr std::size_t kOnodeHeader = kSumBytes + 8 + 8 + 1 + 1 + 1 + 1 + 4 + 8;
constexpr std::uint64_t kReserved = std::uint64_t{1} << 63;  // in an entry's first word
constexpr std::uint64_t kMostRegions = 1u << 20;
constexpr std::uint64_t kBlockBits = 40;
constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << kBlockBits;

// What a sector or block says is of this store and of this place.
std::uint64_t seal(std::string_view bytes, std::uint64_t identity, std::uint64_t place) {
  std::string seeded(bytes);
  ByteWriter w(seeded);
  w.u64(identity);
  w.u64(place);
  return checksum(seeded);
}

std::string sealed(std::string body, std::size_t bytes, std::uint64_t identity, std::uint64_t place) {
  body.resize(bytes - kSumBytes, '\0');
  std::string out;
  ByteWriter(out).u64(seal(body, identity, place));
  return out + body;
}

std::optional<std::string_view> unsealed(std::string_view in, std::size_t bytes, std::uint64_t identity,
                                         std::uint64_t place) {
  if (in.size() < bytes) return std::nullopt;
  const std::string_view body = in.substr(kSumBytes, bytes - kSumBytes);
  if (ByteReader(in).u64() != seal(body, identity, place)) return std::nullopt;
  return body;
}

void put(ByteWriter& w, const Extent& e) {
  w.u64(e.logical | (e.written ? 0 : kReserved));
  w.u64(e.block | static_cast<std::uint64_t>(e.count) << kBlockBits);
}

Extent take(ByteReader& r) {
  const std::uint64_t logical = r.u64(), packed = r.u64();
  return {logical & ~kReserved, packed & (kMostBlocks - 1), static_cast<std::uint32_t>(packed >> kBlockBits),
          (logical & kReserved) == 0};
}

constexpr std::uint64_t kPlaceOfEpoch = ~std::uint64_t{0};  // no region, block or onode has it

std::uint64_t place_of(OnodeId id) { return static_cast<std::uint64_t>(id.region) << 32 | id.index; }

}  // namespace

std::uint64_t Geometry::table_blocks() const { return 1 + onodes; }

std::uint64_t Geometry::onodes_in_onode_region() const { return region_blocks - 1; }

bool Geometry::is_sane(std::uint64_t device_bytes) const {
  return large_blocks > 0 && onodes > 0 && onodes < (1u << 24) && region_blocks >= 64 &&
         region_blocks < (1u << 24) && regions > 0 && regions <= kMostRegions &&
         regions < kMostBlocks / region_blocks && large_blocks <= region_blocks &&
         table_blocks() + large_blocks <= region_blocks &&
         (kHeadBlocks + regions * region_blocks) * kBlock <= device_bytes;
}

Result<Geometry> Geometry::for_device(std::uint64_t bytes, std::uint64_t region_bytes,
                                      std::uint64_t large_bytes, std::uint64_t identity) {
  constexpr std::uint64_t kLeastRegion = std::uint64_t{16} << 20, kMostRegion = std::uint64_t{256} << 20;
  constexpr std::uint64_t kLeastSensible = std::uint64_t{1} << 20;
  constexpr std::uint64_t kAboutRegions = 128, kBytesForOnode = 256 * 1024;
  Geometry g;
  g.identity = identity;
  if (region_bytes == 0)
    region_bytes = std::clamp(std::bit_floor(bytes / kAboutRegions), kLeastRegion, kMostRegion);
  g.region_blocks = region_bytes / kBlock;
  g.large_blocks = static_cast<std::uint32_t>(large_bytes / kBlock);
  g.onodes = static_cast<std::uint32_t>(std::max<std::uint64_t>(16, region_bytes / kBytesForOnode));
  const std::uint64_t blocks = bytes / kBlock;
  g.regions = blocks > kHeadBlocks ? (blocks - kHeadBlocks) / g.region_blocks : 0;
  if (region_bytes < kLeastSensible || large_bytes == 0 || large_bytes > region_bytes / 2) {
    return fail(Error::usage("a region of " + std::to_string(region_bytes) + " bytes with large blocks of " +
                             std::to_string(large_bytes) +
                             " makes no sense: at least 1048576, and two large blocks in it"));
  }
  if (g.regions < 4 || !g.is_sane(bytes)) {
    return fail(
        Error::usage("a region store needs at least four regions of " + std::to_string(region_bytes) +
                     " bytes, and there are " + std::to_string(bytes) + " bytes" +
                     (region_bytes > kLeastSensible ? "; smaller ones are made with --region-size=1M" : "")));
  }
  return g;
}

std::string encode(const Superblock& s) {
  std::string body;
  ByteWriter w(body);
  body += kMagic;
  w.u32(kVersion);
  w.u64(s.geometry.identity);
  w.u64(s.geometry.region_blocks);
  w.u64(s.geometry.regions);
  w.u32(s.geometry.large_blocks);
  w.u32(s.geometry.onodes);
  w.u64(s.version);
  w.u8(s.clean ? 1 : 0);
  w.u64(s.checkpoint_bytes);
  w.u64(s.checkpoint_sum);
  w.u32(static_cast<std::uint32_t>(s.checkpoint.size()));
  for (const Run& run : s.checkpoint) {
    w.u64(run.block);
    w.u32(run.count);
  }
  return sealed(std::move(body), kSectorBytes, 0, 0);
}

Result<std::optional<Superblock>> decode_superblock(std::string_view sector) {
  const auto body = unsealed(sector, kSectorBytes, 0, 0);
  if (!body || !body->starts_with(kMagic)) return std::optional<Superblock>();
  ByteReader r(body->substr(kMagic.size()));
  if (const std::uint32_t version = r.u32(); version > kVersion) {
    return fail(Error::usage("this region store has format " + std::to_string(version) +
                             ", and this program knows formats up to " + std::to_string(kVersion) +
                             "; use a newer cffs"));
  }
  Superblock s;
  s.geometry.identity = r.u64();
  s.geometry.region_blocks = r.u64();
  s.geometry.regions = r.u64();
  s.geometry.large_blocks = r.u32();
  s.geometry.onodes = r.u32();
  s.version = r.u64();
  s.clean = r.u8() != 0;
  s.checkpoint_bytes = r.u64();
  s.checkpoint_sum = r.u64();
  const std::uint32_t runs = r.u32();
  for (std::uint32_t i = 0; i < runs && r.ok(); ++i) {
    Run run;
    run.block = r.u64();
    run.count = r.u32();
    s.checkpoint.push_back(run);
  }
  if (!r.ok()) return std::optional<Superblock>();
  return std::optional(std::move(s));
}

std::string_view name_of(RegionKind kind) {
  switch (kind) {
    case RegionKind::unused:
      return "unused";
    case RegionKind::small:
      return "small";
    case RegionKind::large:
      return "large";
    case RegionKind::onodes:
      return "onodes";
  }
  return "?";
}

std::uint64_t most_onodes(const Geometry& g, RegionKind kind) {
  return kind == RegionKind::onodes ? g.onodes_in_onode_region() : g.onodes;
}

std::uint64_t Epoch::mark() const {
  constexpr std::uint64_t kSpread =
      0x9e3779b97f4a7c15;  // 2^64 / golden ratio: no two of few failures are near each other
  const std::uint64_t mark = incarnation + failures * kSpread;
  return mark != 0 ? mark : 1;
}

std::string encode(const Epoch& epoch, const Geometry& g) {
  std::string body;
  ByteWriter w(body);
  w.u64(epoch.incarnation);
  w.u64(epoch.failures);
  return sealed(std::move(body), kSectorBytes, g.identity, kPlaceOfEpoch);
}

std::optional<Epoch> decode_epoch(std::string_view sector, const Geometry& g) {
  const auto body = unsealed(sector, kSectorBytes, g.identity, kPlaceOfEpoch);
  if (!body) return std::nullopt;
  ByteReader r(*body);
  Epoch epoch;
  epoch.incarnation = r.u64();
  epoch.failures = r.u64();
  return epoch;
}

std::string encode(const RegionHead& head, const Geometry& g, std::uint64_t region) {
  std::string body;
  ByteWriter w(body);
  w.u64(head.version);
  w.u8(static_cast<std::uint8_t>(head.kind));
  w.u32(head.onodes_begun);
  w.u64(head.since);
  return sealed(std::move(body), kSectorBytes, g.identity, region);
}

std::optional<RegionHead> decode_head(std::string_view sector, const Geometry& g, std::uint64_t region) {
  const auto body = unsealed(sector, kSectorBytes, g.identity, region);
  if (!body) return std::nullopt;
  ByteReader r(*body);
  RegionHead head;
  head.version = r.u64();
  const std::uint8_t kind = r.u8();
  head.onodes_begun = r.u32();
  head.since = r.u64();
  if (kind > static_cast<std::uint8_t>(RegionKind::onodes)) return std::nullopt;
  head.kind = static_cast<RegionKind>(kind);
  if (head.onodes_begun > most_onodes(g, head.kind)) return std::nullopt;
  return head;
}

std::uint64_t onode_offset(const Geometry& g, OnodeId id, unsigned sector) {
  return (g.first_block(id.region) + 1 + id.index) * kBlock + sector * kSectorBytes;
}

std::size_t Onode::room(std::size_t name_bytes) {
  return (kSectorBytes - kOnodeHeader - name_bytes) / kEntryBytes;
}

std::string encode(const Onode& o, const Geometry& g, OnodeId id) {
  std::string body;
  ByteWriter w(body);
  w.u64(o.version);
  w.u64(o.epoch);
  w.u8(o.is_free ? 1 : 0);
  w.u8(o.level);
  w.u8(static_cast<std::uint8_t>(o.name.size()));
  w.u8(0);
  w.u32(static_cast<std::uint32_t>(o.entries.size()));
  w.u64(o.size);
  body += o.name;
  for (const Extent& e : o.entries) put(w, e);
  CFFS_INVARIANT(body.size() <= kSectorBytes - kSumBytes);
  return sealed(std::move(body), kSectorBytes, g.identity, place_of(id));
}

std::optional<Onode> decode_onode(std::string_view sector, const Geometry& g, OnodeId id) {
  const auto body = unsealed(sector, kSectorBytes, g.identity, place_of(id));
  if (!body) return std::nullopt;
  ByteReader r(*body);
  Onode o;
  o.version = r.u64();
  o.epoch = r.u64();
  o.is_free = r.u8() != 0;
  o.level = r.u8();
  const std::size_t name_bytes = r.u8();
  (void)r.u8();
  const std::uint32_t entries = r.u32();
  o.size = r.u64();
  const std::size_t header = kOnodeHeader - kSumBytes;
  if (name_bytes > kMaxName || entries > Onode::room(name_bytes)) return std::nullopt;
  o.name = body->substr(header, name_bytes);
  ByteReader list(body->substr(header + name_bytes));
  for (std::uint32_t i = 0; i < entries; ++i) o.entries.push_back(take(list));
  return o;
}

std::string encode(const Node& node, const Geometry& g, OnodeId owner, std::uint64_t block) {
  std::string body;
  ByteWriter w(body);
  w.u64(place_of(owner));
  w.u32(node.level);
  w.u32(static_cast<std::uint32_t>(node.entries.size()));
  for (const Extent& e : node.entries) put(w, e);
  CFFS_INVARIANT(body.size() <= kBlock - kSumBytes);
  return sealed(std::move(body), kBlock, g.identity, block);
}

Result<Node> decode_node(std::string_view bytes, const Geometry& g, OnodeId owner, std::uint64_t block) {
  const auto body = unsealed(bytes, kBlock, g.identity, block);
  if (!body)
    return fail(Error::corruption("block " + std::to_string(block) + " of extents has a wrong checksum"));
  ByteReader r(*body);
  const bool is_owners = r.u64() == place_of(owner);
  Node node;
  const std::uint32_t level = r.u32(), entries = r.u32();
  if (!is_owners || level > 8 || entries > Node::kMaxEntries)
    return fail(Error::corruption("block " + std::to_string(block) + " holds the extents of another object"));
  node.level = static_cast<std::uint8_t>(level);
  for (std::uint32_t i = 0; i < entries; ++i) node.entries.push_back(take(r));
  return node;
}

}  // namespace cffs::region
