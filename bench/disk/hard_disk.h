// A drive with one arm. A random access is a seek, whose time grows with the square root of the distance, and the wait for
// the sector to come round; the platter's position follows from the time, so writing next to what was just written and
// flushed costs a whole rotation. Behind a read the head goes on reading into the drive's memory, so sequential reads run
// at the platter's speed. Of several pending reads the nearest in time is taken. Writes are kept in the drive's memory and
// brought out in sorted sweeps, when idle, when the memory is full, and all of them before a flush completes.
#pragma once

#include <deque>
#include <map>

#include "bench/disk/disk_profile.h"

namespace cffs::bench {

class HardDisk final : public DiskModel {
 public:
  HardDisk(const HardDiskProfile& profile, std::uint64_t bytes);
  void submit(std::int64_t now_ns, const DiskRequest& request) override;
  std::int64_t next_event_ns() const override;
  void advance(std::int64_t now_ns, std::vector<std::uint64_t>& completed) override;

  // How long the arm needs until it could transfer from `offset`, starting at `now_ns`: for tests.
  std::int64_t positioning_ns(std::int64_t now_ns, std::uint64_t offset) const;

 private:
  struct Pending {
    DiskRequest request;
    std::int64_t arrived_ns = 0;
  };
  struct Done {
    std::int64_t at_ns;
    std::uint64_t id;
    bool operator>(const Done& other) const { return at_ns > other.at_ns; }
  };

  std::int64_t transfer_ns(std::uint64_t bytes) const;
  std::int64_t read_cost_ns(std::int64_t now_ns, const DiskRequest& request) const;
  bool start_next(std::int64_t now_ns);
  void start_read(std::int64_t now_ns, std::size_t index);
  void start_bringing_out(std::int64_t now_ns);
  void accept_write(std::int64_t now_ns, const DiskRequest& request);
  void accept_waiting_writes(std::int64_t now_ns);
  bool in_memory(const DiskRequest& request) const;
  void complete_flushes(std::int64_t now_ns);
  void complete(std::int64_t at_ns, std::uint64_t id);

  const HardDiskProfile profile_;
  const std::uint64_t bytes_;
  const double rotation_ns_, track_bytes_, seek_factor_ns_;

  std::vector<Pending> reads_;
  std::deque<Pending> writes_;                    // that do not fit into the memory yet
  std::deque<Pending> flushes_;                   // with everything before them still to be brought out
  std::map<std::uint64_t, std::uint64_t> dirty_;  // offset -> length, disjoint and not adjacent
  std::uint64_t dirty_bytes_ = 0;

  bool busy_ = false;
  bool read_last_ = false;
  std::int64_t free_at_ns_ = 0;
  std::uint64_t head_ = 0;  // where the last transfer ended
  // The stream that the head reads on with after a read: it passed `stream_from_` at `stream_from_ns_`.
  bool streaming_ = false;
  std::uint64_t stream_from_ = 0;
  std::int64_t stream_from_ns_ = 0;

  std::vector<Done> done_;  // a heap, the earliest first
};

}  // namespace cffs::bench
