// Where things are on the device of a region store, and the codecs of what describes them; docs/REGION_STORE.md has the picture.
//
// Everything that changes in place is a sector that is written by turns to two places: the one with the higher version counts, a
// write that was torn leaves the one before. Checksums are seeded with the store's identity and the place, so that what an earlier
// store left, or what lies elsewhere, is not taken for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/region/block_device.h"

namespace cffs::region {

inline constexpr std::uint64_t kBlock = 4096;       // bytes of a small block, and of what a mapping counts in
inline constexpr std::uint64_t kSectorBytes = 512;  // bytes of a superblock, a region head, an onode
inline constexpr std::uint64_t kHeadBlocks =
    16;  // before the first region: two superblocks, who has the store
inline constexpr std::uint64_t kOwnerOffset = 2 * kBlock;
inline constexpr std::size_t kOwnerBytes = 256;
inline constexpr std::uint64_t kEpochOffset = kOwnerOffset + kSectorBytes;
inline constexpr std::size_t kMaxName = 200;  // bytes of an object's name

// A run of blocks of the device; a block's number is its offset in blocks of 4 KiB.
struct Run {
  std::uint64_t block = 0;
  std::uint32_t count = 0;
  bool operator==(const Run&) const = default;
};

struct Geometry {
  std::uint64_t identity = 0;       // random, of this store
  std::uint64_t region_blocks = 0;  // of 4 KiB, table of onodes included
  std::uint64_t regions = 0;
  std::uint32_t large_blocks = 0;  // blocks of 4 KiB in a large block
  std::uint32_t onodes = 0;        // in a region of blocks

  std::uint64_t first_block(std::uint64_t region) const { return kHeadBlocks + region * region_blocks; }
  DeviceRange bytes_of(std::uint64_t region) const {
    return {first_block(region) * kBlock, region_blocks * kBlock};
  }
  std::uint64_t region_of(std::uint64_t block) const { return (block - kHeadBlocks) / region_blocks; }
  // Blocks of a region that its head and its onodes take; large blocks begin at a multiple of their size behind them.
  std::uint64_t table_blocks() const;
  std::uint64_t onodes_in_onode_region() const;
  // EINVAL-like `usage`: the device is too small.
  static Result<Geometry> for_device(std::uint64_t bytes, std::uint64_t region_bytes,
                                     std::uint64_t large_bytes, std::uint64_t identity);
  bool is_sane(std::uint64_t device_bytes) const;
};

struct Superblock {
  Geometry geometry;
  std::uint64_t version = 0;
  bool clean = false;
  // Of a clean store: where its state lies, in blocks that are free otherwise; none: it has to be scanned.
  std::vector<Run> checkpoint;
  std::uint64_t checkpoint_bytes = 0, checkpoint_sum = 0;
};
// 512 bytes.
std::string encode(const Superblock& superblock);
// `usage` where it is another format's or a newer version's, nullopt where it is none.
Result<std::optional<Superblock>> decode_superblock(std::string_view sector);

enum class RegionKind : std::uint8_t { unused = 0, small = 1, large = 2, onodes = 3 };
std::string_view name_of(RegionKind kind);

struct RegionHead {
  RegionKind kind = RegionKind::unused;
  std::uint64_t version = 0;
  std::uint32_t onodes_begun = 0;  // onodes from this one on were never used
  std::uint64_t since = 0;  // what an onode says that is older than this is of an earlier life of the region
};
// That such a region can have.
std::uint64_t most_onodes(const Geometry& geometry, RegionKind kind);
// A time in which what was written and not flushed is still there: it ends with the boot or the attachment of the device, of which the
// device's incarnation tells, and with a writeback that failed, which the kernel tells once and forgets.
struct Epoch {
  std::uint64_t incarnation = 0;
  std::uint64_t failures = 0;  // of flushes, in this incarnation
  // What live sectors of this time carry; never 0, and the incarnation as long as nothing has failed.
  std::uint64_t mark() const;
};
std::string encode(const Epoch& epoch, const Geometry& geometry);
std::optional<Epoch> decode_epoch(std::string_view sector, const Geometry& geometry);

std::string encode(const RegionHead& head, const Geometry& geometry, std::uint64_t region);
std::optional<RegionHead> decode_head(std::string_view sector, const Geometry& geometry,
                                      std::uint64_t region);

// The paper's onode identifier: a region and a place in its table.
struct OnodeId {
  std::uint32_t region = 0, index = 0;
  bool operator==(const OnodeId&) const = default;
  auto operator<=>(const OnodeId&) const = default;
};
// An onode has three sectors: two that are durable by turns, and one that says what a running program sees. They have a block for
// themselves: who knows them can write all of it, so that nothing has to be read for a change of one.
inline constexpr unsigned kOnodeSectors = 3, kLiveSector = 2;
std::uint64_t onode_offset(const Geometry& geometry, OnodeId id, unsigned sector);  // bytes

// A piece of an object's mapping, or (in levels above 0) where a block of such pieces lies: then count is 1.
struct Extent {
  std::uint64_t logical = 0, block = 0;  // in blocks of 4 KiB
  std::uint32_t count = 0;               // blocks; at most kMaxExtent
  bool written = true;                   // false: reserved, reads as zeros
  bool operator==(const Extent&) const = default;
};
inline constexpr std::uint32_t kMaxExtent = (1u << 24) - 1;

struct Onode {
  std::uint64_t version = 0;
  std::uint64_t epoch = 0;  // the mark of that with which it may be gone; 0: durable
  bool is_free = false;     // no object has it
  std::uint8_t level = 0;   // 0: `entries` are the extents; else the nodes of that level
  std::uint64_t size = 0;   // bytes
  std::string name;
  std::vector<Extent> entries;

  static std::size_t room(std::size_t name_bytes);  // entries that fit
};
std::string encode(const Onode& onode, const Geometry& geometry, OnodeId id);
std::optional<Onode> decode_onode(std::string_view sector, const Geometry& geometry, OnodeId id);

// A block of extents, or of where such blocks lie.
struct Node {
  static constexpr std::size_t kMaxEntries = 253;
  std::uint8_t level = 0;  // 0: extents
  std::vector<Extent> entries;
};
std::string encode(const Node& node, const Geometry& geometry, OnodeId owner, std::uint64_t block);
// Result: corruption.
Result<Node> decode_node(std::string_view bytes, const Geometry& geometry, OnodeId owner,
                         std::uint64_t block);

}  // namespace cffs::region
