// One thread's part of a play: waits for others where the schedule says so, performs its operations, times and judges them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "replay/play/player.h"

namespace cffs::replay {

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Player::Thread {
 public:
  Thread(Player& player, std::uint32_t index, const PlayOptions& options, std::uint64_t end)
      : player_(player), index_(index), options_(options), end_(end) {}

  void run(std::int64_t start_ns, std::int64_t first_ns);

  PlayReport report;

 private:
  void wait_for_others(const Step& step);
  void wait_until(std::int64_t moment_ns);

  const Operation& operation(const Step& step) const { return player_.trace_.operations[step.operation]; }
  std::span<char> buffer(std::size_t bytes) {
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    return {buffer_.data(), bytes};
  }

  // Runs the call between two looks at the clock; returns the nanoseconds between them.
  template <typename Action>
  std::int64_t timed(const Action& action) {
    const std::int64_t start = now_ns();
    result_ = action();
    ended_ns_ = now_ns();
    return ended_ns_ - start;
  }

  std::int64_t perform(const Step& step);
  std::int64_t perform_read(const Step& step, const Operation& o);
  std::int64_t perform_write(const Step& step, const Operation& o);
  std::int64_t fetch(const std::string& path, std::uint64_t from, std::uint64_t most, const Step& step);
  std::int64_t list(const std::string& path);
  std::int64_t sync_by_path(const std::string& path, bool data_only);
  std::int64_t call(const Operation& o, std::int64_t handle);
  void check_bytes(const Step& step, std::uint64_t offset, std::span<const char> bytes);
  void record(const Step& step, std::int64_t latency_ns);
  void problem(const Step& step, std::uint64_t& counter, const std::string& what);

  Player& player_;
  const std::uint32_t index_;
  const PlayOptions& options_;
  const std::uint64_t end_;
  std::string buffer_;
  FileFacts facts_;
  std::int64_t result_ = 0;
  std::int64_t ended_ns_ = 0;
  std::int64_t checking_ns_ = 0;  // inside a timed call: taken off its latency
  std::uint32_t segment_ = 0;     // of the step's, where the next byte of a sequential read is looked for
  bool content_is_right_ = true;
};

}  // namespace cffs::replay
