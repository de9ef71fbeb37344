#include "bench/disk/cloud_disk.h"

#include <algorithm>
#include <cmath>

namespace cffs::bench {

void CloudDisk::submit(std::int64_t now_ns, const DiskRequest& request) {
  const auto ns = [](double seconds) { return static_cast<std::int64_t>(std::llround(seconds * 1e9)); };
  const std::uint64_t pieces =
      std::max<std::uint64_t>(1, (request.length + profile_.request_bytes - 1) / profile_.request_bytes);
  const std::int64_t transfer = ns(static_cast<double>(request.length) / profile_.bytes_per_s);
  const std::int64_t start = std::max({now_ns, next_request_ns_, next_byte_ns_});
  next_request_ns_ = start + ns(static_cast<double>(pieces) / profile_.requests_per_s);
  next_byte_ns_ = start + transfer;
  under_way_.emplace(start + transfer + ns(profile_.latency_s), request.id);
}

void CloudDisk::advance(std::int64_t now_ns, std::vector<std::uint64_t>& completed) {
  while (!under_way_.empty() && under_way_.top().first <= now_ns) {
    completed.push_back(under_way_.top().second);
    under_way_.pop();
  }
}

}  // namespace cffs::bench
