// A network block volume: every request takes a latency, and no more than so many requests and bytes a second are
// admitted, in the order in which they come. Many may be under way at once. What was written is durable at once, so a
// flush is a request like others.
#pragma once

#include <queue>

#include "bench/disk/disk_profile.h"

namespace cffs::bench {

class CloudDisk final : public DiskModel {
 public:
  explicit CloudDisk(const CloudProfile& profile) : profile_(profile) {}
  void submit(std::int64_t now_ns, const DiskRequest& request) override;
  std::int64_t next_event_ns() const override { return under_way_.empty() ? kNever : under_way_.top().first; }
  void advance(std::int64_t now_ns, std::vector<std::uint64_t>& completed) override;

 private:
  using Completion = std::pair<std::int64_t, std::uint64_t>;  // when, id
  const CloudProfile profile_;
  std::int64_t next_request_ns_ = 0, next_byte_ns_ = 0;  // when the next one is admitted
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> under_way_;
};

}  // namespace cffs::bench
