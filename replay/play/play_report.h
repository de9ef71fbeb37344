// What playing a schedule showed: latencies, operations over time, and what came out otherwise than it must.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "replay/results/latency_histogram.h"
#include "replay/trace/operation.h"

namespace cffs::replay {

// How many operations completed in each slice of time.
class Timeline {
 public:
  static constexpr std::int64_t kSliceNs = 100'000'000;
  void record(std::int64_t since_start_ns) {
    const auto slice = static_cast<std::size_t>(since_start_ns / kSliceNs);
    if (slice >= counts_.size()) counts_.resize(slice + 1);
    ++counts_[slice];
  }
  void merge(const Timeline& other);
  const std::vector<std::uint64_t>& counts() const { return counts_; }

 private:
  std::vector<std::uint64_t> counts_;
};

struct PlayReport {
  std::array<std::unique_ptr<LatencyHistogram>, kCalls> by_call;  // null: none played
  Timeline timeline;
  std::uint64_t operations = 0;
  std::uint64_t read_bytes = 0, written_bytes = 0;
  double seconds = 0;
  double checking_seconds = 0;  // of all threads: making up data and checking it
  double late_seconds = 0;      // with think time: the most an operation started after its moment

  // What differs from what the trace requires.
  std::uint64_t failed = 0;       // should have succeeded
  std::uint64_t not_refused = 0;  // should have failed
  std::uint64_t other_error = 0;  // failed as it should, with another errno
  std::uint64_t wrong_size = 0;   // of a read or a stat, or a number of entries
  std::uint64_t wrong_content = 0;
  std::uint64_t missing = 0;  // of those that failed, because there is no such name
  std::string first_problem;
  std::uint64_t problems() const { return failed + not_refused + other_error + wrong_size + wrong_content; }

  LatencyHistogram all() const;
  void merge(PlayReport& other);
  // What went wrong there went wrong here, before.
  void add_problems_before(const PlayReport& earlier);
};

}  // namespace cffs::replay
