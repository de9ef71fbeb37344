#include "fusefs/short_waits.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace cffs {
namespace {

constexpr std::chrono::microseconds kLongest{250};
// Between two looks: somebody else had the processor. It is better slept on then, since who sleeps is woken before those who have
// used up their share.
constexpr std::chrono::microseconds kCrowded{60};

}  // namespace

bool ShortWaits::look(const Ready& ready, const Ready& wanted) {
  auto now = now_();
  for (const auto until = now + kLongest; now < until;) {
    if (ready()) {
      credit_ = std::min(credit_ + 1, kMost);
      return true;
    }
    if (wanted()) return false;
    sched_yield();
    const auto before = std::exchange(now, now_());
    if (now - before > kCrowded) break;
  }
  credit_ = std::max(credit_ - kCost, 0);
  return false;
}

}  // namespace cffs
