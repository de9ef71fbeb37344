// Waits for a device that are so short that looking for the answer is cheaper than sleeping until it comes (adr/0034, adr/0039).
//
// Learnt from those that were looked for: each that came earns credit, each that did not costs some. Without credit nobody looks,
// but for one of many, since what a device does now, or what else the processors have to do, changes.
//
// Thread-safety: one thread at a time.
#pragma once

#include <chrono>

#include "core/object/blocking_section.h"

namespace cffs {

class ShortWaits {
 public:
  using Ready = BlockingObserver::Ready;
  using Clock = std::chrono::steady_clock;
  // Between two looks: somebody else had the processor. It is better slept on then, since who sleeps is woken before those who
  // have used up their share.
  static constexpr std::chrono::microseconds kCrowded{60};
  // A test has a clock of its own: who else wants the processor is no part of it.
  explicit ShortWaits(Clock::time_point (*now)() = &Clock::now) : now_(now) {}
  // May the next answer come soon? To be asked once for each.
  bool expected();
  // Looks until `ready`: true. False: it does not come soon, or somebody else wants the processor.
  bool look(const Ready& ready);
  // For who looks by himself.
  void came();
  void did_not_come();

 private:
  static constexpr int kMost = 16;
  Clock::time_point (*const now_)();
  int credit_ = kMost;
  unsigned passed_over_ = 0;
};

}  // namespace cffs
