// When a disk completes what it is asked for: time alone, no data, no clock of its own.
//
// The caller says what time it is; the model says when something will be done. So it is tested without waiting. Times are
// nanoseconds and never step back. Not thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace cffs::bench {

struct DiskRequest {
  enum class Kind { read, write, flush };
  Kind kind = Kind::read;
  std::uint64_t id = 0;
  std::uint64_t offset = 0, length = 0;
};

class DiskModel {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  virtual ~DiskModel() = default;
  virtual void submit(std::int64_t now_ns, const DiskRequest& request) = 0;
  // When advance() will have something to do; kNever: not before the next submit().
  virtual std::int64_t next_event_ns() const = 0;
  // Lets time pass until `now_ns`; ids of what was completed are appended.
  virtual void advance(std::int64_t now_ns, std::vector<std::uint64_t>& completed) = 0;
};

}  // namespace cffs::bench
