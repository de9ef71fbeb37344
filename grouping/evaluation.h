// What a grouping would cost on a sequence of accesses, without building anything: a cache and a disk as models.
//
// A unit is what one miss brings in: a group, or a file without one. The cache holds units, least recently used go
// first. A miss costs the unit's reads and its bytes; an access whose unit is in the cache costs nothing. What was
// brought in and never accessed before it left the cache was wasted. docs/GROUPING.md holds the model against replays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grouping/mining/itemset.h"
#include "grouping/policy.h"

namespace cffs::grouping {

struct DiskProfile {
  std::string name;
  double read_ms = 0;          // of a read at another place, before the first byte
  double bytes_per_second = 0;
};
// hdd, ssd, network: a hard disk, a solid-state disk, a disk behind a network.
const std::vector<DiskProfile>& disk_profiles();

// Where files lie: for each item its unit.
struct Layout {
  std::string name;
  std::vector<std::uint32_t> unit_of;     // index: item
  std::vector<std::uint64_t> unit_bytes;
  std::vector<std::uint8_t> unit_reads;   // device reads of a miss
};
// Files in groups are subfiles: one read brings their group. A file on its own is a row of the table (one read) up to
// inline_max, and an object of its own (inode and data: two reads) above.
Layout layout_of(std::string name, const std::vector<Candidate>& files, const std::vector<Group>& groups,
                 std::uint64_t inline_max = 4096, std::uint64_t composite_file_max = 1u << 20);

struct Evaluation {
  std::string name;
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t reads = 0;         // of the device
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_used = 0;    // of those, of files accessed while they were in the cache
  double ms_per_access(const DiskProfile& disk) const;
  double hit_rate() const { return accesses == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(accesses); }
  double waste() const {
    return bytes_read == 0 ? 0 : 1 - static_cast<double>(bytes_used) / static_cast<double>(bytes_read);
  }
};
Evaluation evaluate(const Layout& layout, const std::vector<Candidate>& files, const std::vector<Item>& accesses,
                    std::uint64_t cache_bytes);

}  // namespace cffs::grouping
