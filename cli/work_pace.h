// How fast a long job goes, and how long it takes yet: from what was told of it lately, since disks and files differ on the way.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "core/base/work_step.h"

namespace cffs::cli {

class WorkPace {
 public:
  // What is told is to be noted often; times never go back.
  void note(const WorkStep& step, std::int64_t now_ms);
  // Whether a step that is noted now adds anything to the pace.
  bool wants_sample(std::int64_t now_ms) const;
  // "moving: 1200 of 4000 files, 310/s, 0:09 left"; without a rate in the first second of a step, and while nothing comes of it.
  std::string sentence() const;

 private:
  struct Sample {
    std::int64_t at_ms = 0;
    std::uint64_t done = 0, effort = 0;
  };
  double per_second(std::uint64_t Sample::*what) const;  // 0: not known

  WorkStep step_;
  std::deque<Sample> samples_;  // of the last while, oldest first
};

// "0:09", "12:00", "1:02:03"
std::string clock_time(std::uint64_t seconds);

}  // namespace cffs::cli
