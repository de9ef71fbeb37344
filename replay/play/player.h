// Plays a schedule on a target with threads, times every operation, and checks what comes back.
//
// Latencies are those of the target's calls alone: waiting for other clients, think time, making up data and checking it are
// outside. What the player itself costs is told by playing without a target.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replay/play/play_report.h"
#include "replay/play/schedule.h"
#include "replay/play/target.h"

namespace cffs::replay {

enum class Check { content, size, none };

struct PlayOptions {
  double think = 0;  // 0: zero think time; 1: as recorded; 0.5: half of it
  Check check = Check::content;
  std::function<void(std::uint64_t done)> progress;  // now and then, from one thread
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
