// What a grouping would cost on a sequence of accesses, without building anything: a cache and a disk as models.
//
// A unit is a group, or a file without one; composites hold groups, one after the other. The cache holds files, as the kernel holds
// pages: the least recently used go first, also those of a group whose others stay. A miss costs one seek and the bytes of what it
// brings of what is not in the cache, in requests of a bounded size; an access to a file in the cache costs nothing. What it brings
// is the unit, whatever it is worth, as in the papers; or what a mount would: the file, its group or its composite, by the mount's
// own rule and one reader (core/composite/read_ahead.h). A table that is small enough is read at mount and stays in memory: what it
// holds costs no seek, and its bytes are taken from the cache. What was brought in and never accessed before it left the cache was
// wasted. docs/GROUPING.md holds the model against replays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grouping/mining/itemset.h"
#include "grouping/policy.h"

namespace cffs::replay {

struct DiskProfile {
  std::string name;
  double seek_ms = 0;  // of a read at another place, before the first byte
  double bytes_per_second = 0;
  // What it would have read while it went to another place.
  double exchange_bytes() const { return seek_ms / 1000 * bytes_per_second; }
};
// hdd, ssd, cloud: a hard disk, a solid-state disk, a disk behind a network.
const std::vector<DiskProfile>& disk_profiles();
// Null: there is none of that name. "network" is an older name of cloud.
const DiskProfile* find_disk(std::string_view name);

// Where a unit lies.
struct Unit {
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  bool in_table = false;
  std::uint32_t composite = kNowhere;  // by its number; kNowhere: it is a file on its own
  double planned_share =
      0;  // of a group's bytes, what is wanted by who comes to it, as a plan says; 0: none does
};

// Where files lie: for each item its unit.
struct Layout {
  std::string name;
  std::vector<std::uint32_t> unit_of;  // index: item
  std::vector<Unit> units;             // groups in the order in which they lie, then files on their own
  std::uint64_t table_bytes = 0;       // rows, and the files that are in the table
};
// Largest requests of a group that is read whatever it is worth, and of a large file that is read through.
inline constexpr std::uint64_t kGroupRequestBytes = 256 * 1024;
inline constexpr std::uint64_t kObjectRequestBytes = 1024 * 1024;
// A table of at most so much, and of half of the cache, stays in memory.
inline constexpr std::uint64_t kSmallTable = 32u << 20;
inline constexpr std::uint64_t kTableBlockBytes = 4096;
// Files in groups are subfiles, groups are packed into composites in their order. A file on its own is a row of the table up to
// inline_max, and an object of its own above; the inodes of objects lie close together and cost little.
// `planned_shares`: of `groups`, as in Unit; beyond its end 0.
Layout layout_of(std::string name, const std::vector<grouping::Candidate>& files,
                 const std::vector<grouping::Group>& groups, const std::vector<double>& planned_shares = {},
                 std::uint64_t inline_max = 4096, std::uint64_t composite_file_max = 1u << 20);

// The same by a policy and, where it has one, its plan. `read`: contents, of documents, for a policy that asks.
Layout lay_out(std::string name, const grouping::Policy& policy,
               const std::vector<grouping::Candidate>& files, const grouping::ReadContent& read = {});

struct Evaluation {
  std::string name;
  std::uint64_t accesses = 0;
  std::uint64_t hits = 0;
  std::uint64_t seeks = 0;  // places that were read from
  std::uint64_t reads = 0;  // requests to the device
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_used = 0;  // of those, of files accessed while they were in the cache
  // Counts of the same layout behind another cut.
  void add(const Evaluation& other);
  double ms_per_access(const DiskProfile& disk) const;
  double hit_rate() const {
    return accesses == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(accesses);
  }
  double waste() const {
    return bytes_read == 0 ? 0 : 1 - static_cast<double>(bytes_used) / static_cast<double>(bytes_read);
  }
};
// What a miss brings of a composite.
enum class Reading : std::uint8_t {
  group,  // the group
  mount,  // what the mount's read-ahead would
};
// What stands between accesses and the medium.
struct Model {
  std::uint64_t cache_bytes = 64u << 20;
  Reading reading = Reading::group;
  DiskProfile disk;  // only where the mount's read-ahead asks what a request is worth there
};
// The first `warming` accesses fill the cache and are not counted.
Evaluation evaluate(const Layout& layout, const std::vector<grouping::Candidate>& files,
                    const std::vector<grouping::Item>& accesses, const Model& model, std::size_t warming = 0);

}  // namespace cffs::replay
