// Whether a device answers so soon that looking for its answer is cheaper than sleeping until it comes.
//
// Learnt from those that were looked for: each that came earns credit, each that did not costs some. Without credit nobody looks,
// but for one of many, since what a device does now (or what else the processors have to do) changes.
//
// Not thread-safe: the leader's (request_loop.h).
#pragma once

namespace cffs {

class ShortWaits {
 public:
  // To be asked once for each answer that is waited for.
  bool expected() { return credit_ > 0 || ++passed_over_ % kTryEach == 0; }
  void came() { credit_ = credit_ < kMost ? credit_ + 1 : kMost; }
  void did_not_come() { credit_ = credit_ > kCost ? credit_ - kCost : 0; }

 private:
  static constexpr int kMost = 16, kCost = 4;
  static constexpr unsigned kTryEach = 64;
  int credit_ = kMost;
  unsigned passed_over_ = 0;
};

}  // namespace cffs
