// The disks that benchmarks can be run on. "raw" is the machine's own; the others are modelled (docs/MEASURING.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/disk/disk_model.h"
#include "core/base/error.h"

namespace cffs::bench {

struct CloudProfile {
  double latency_s = 0.00038;  // with the way through FUSE and the loop device fio sees 0.5 ms
  double requests_per_s = 3000;
  double bytes_per_s = 125e6;
  std::uint64_t request_bytes = 256 * 1024;  // a larger request counts as several
};

struct HardDiskProfile {
  double rotations_per_minute = 7200;
  double access_s = 0.0067;  // mean of a random access over the whole disk: seek and half a rotation
  double settle_s = 0.0008;  // the shortest seek
  double bytes_per_s = 130e6;
  double cache_bytes_per_s = 300e6;  // between the drive's memory and the host
  std::uint64_t cache_bytes = 64u << 20;
  double command_s = 0.00005;
};

// "raw", "cloud", "hdd".
const std::vector<std::string>& disk_names();
// A model of that disk of `bytes`; null for "raw".
Result<std::unique_ptr<DiskModel>> make_disk_model(const std::string& name, std::uint64_t bytes);

}  // namespace cffs::bench
