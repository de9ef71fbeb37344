#include "fusefs/short_waits.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace cffs {
namespace {

constexpr std::chrono::microseconds kLongest{250};
constexpr int kCost = 2;
constexpr unsigned kTryEach = 64;

}  // namespace

bool ShortWaits::expected() { return credit_ > 0 || ++passed_over_ % kTryEach == 0; }

void ShortWaits::came() { credit_ = std::min(credit_ + 1, kMost); }

void ShortWaits::did_not_come() { credit_ = std::max(credit_ - kCost, 0); }

bool ShortWaits::look(const Ready& ready) {
  auto now = now_();
  for (const auto until = now + kLongest; now < until;) {
    if (ready()) {
      came();
      return true;
    }
    sched_yield();
    const auto before = std::exchange(now, now_());
    if (now - before > kCrowded) break;
  }
  did_not_come();
  return false;
}

}  // namespace cffs
