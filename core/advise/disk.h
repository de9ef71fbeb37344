// What a disk costs who reads from it, as far as advice needs that: a place, a neighbouring place, bytes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/advise/tree_survey.h"

namespace cffs {

struct Disk {
  std::string name;
  double seek_ms = 0;  // of a request at a place of chance on all of the disk
  double near_ms = 0;  // of one that follows the last one closely
  double bytes_per_second = 0;
  bool has_arm = false;

  // Of a request somewhere in one tree or store. An arm goes over a part of the disk; a volume behind a network has a little
  // more to do than to answer. Fitted to docs/PERFORMANCE.md, "Compressed composites", and docs/ADVISE.md.
  double place_ms() const { return has_arm ? 0.8 * seek_ms : seek_ms > 0.25 ? 1.2 * seek_ms : seek_ms; }
  // What a file system pays for another directory: its inode, its block, its files' inodes and the first of their data lie apart.
  double directory_ms() const { return has_arm ? 2.5 * place_ms() : near_ms; }
  bool is_fast() const { return seek_ms < 0.25; }
};

// hdd, cloud, ssd: those of `cffs bench --disk` and `cffs evaluate --disk`.
const std::vector<Disk>& modelled_disks();
// Null: there is none of that name.
const Disk* find_modelled_disk(std::string_view name);

// A disk whose places answer in so many milliseconds, and so many bytes in so many: medians. Where the second are hardly more than the first,
// what is told is how fast those bytes came in all.
Disk disk_of_times(double place_ms, double long_ms, std::uint64_t place_bytes, std::uint64_t long_bytes);
// The disk below a surveyed tree, named "this", by reading some of its files past the memory: up to two seconds, nothing is written.
// `usage`: the tree holds too little to tell, or its file system reads through memory alone.
Result<Disk> measure_disk_below(const TreeSurvey& survey, const std::function<bool()>& go_on);

}  // namespace cffs
