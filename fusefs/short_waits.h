// Waits for a device that are so short that looking for the answer is cheaper than sleeping until it comes (adr/0034).
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
  // A test has a clock of its own: who else wants the processor is no part of it.
  explicit ShortWaits(Clock::time_point (*now)() = &Clock::now) : now_(now) {}
  // May the next answer come soon? To be asked once for each.
  bool expected() { return credit_ > 0 || ++passed_over_ % kTryEach == 0; }
  // Looks until `ready`: true. False: it does not come soon; somebody else wants the processor; or `wanted`, which is asked between
  // looks, says that the thread is needed elsewhere, which is nothing against the device.
  bool look(const Ready& ready, const Ready& wanted);

 private:
  static constexpr int kMost = 16, kCost = 4;
  static constexpr unsigned kTryEach = 64;
  Clock::time_point (*const now_)();
  int credit_ = kMost;
  unsigned passed_over_ = 0;
};

}  // namespace cffs
