// Plays a schedule on a target with threads, times every operation, and checks what comes back.
//
// Latencies are those of the target's calls alone: waiting for other clients, think time, making up data and checking it are
// outside. What the player itself costs is told by playing without a target.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "replay/latency_histogram.h"
#include "replay/play/schedule.h"
#include "replay/play/target.h"

namespace cffs::replay {

enum class Check { content, size, none };

struct PlayOptions {
  double think = 0;  // 0: zero think time; 1: as recorded; 0.5: half of it
  Check check = Check::content;
  std::function<void(std::uint64_t done)> progress;  // now and then, from one thread
};

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
  std::string first_problem;
  std::uint64_t problems() const { return failed + not_refused + other_error + wrong_size + wrong_content; }

  LatencyHistogram all() const;
  void merge(PlayReport& other);
};

class Player {
 public:
  // Trace and schedule must outlive the player. `target` null: every operation returns at once what it must.
  Player(const Trace& trace, const Schedule& schedule, Target* target);
  ~Player();
  // Plays operations up to the trace's `end`-th; the next call goes on from there.
  PlayReport play(const PlayOptions& options, std::uint64_t end = ~std::uint64_t{0});
  void close_all();

 private:
  struct alignas(64) Progress {
    std::atomic<std::uint32_t> done{0};
  };
  class Thread;

  const Trace& trace_;
  const Schedule& schedule_;
  Target* target_;
  std::vector<Progress> progress_;
  std::vector<std::int64_t> handles_;  // by the trace's number; -1: not open
  std::string root_;
  std::int64_t played_until_ns_ = 0;
};

}  // namespace cffs::replay
