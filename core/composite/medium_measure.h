// What a request and what bytes cost on the medium: measured once, by small and large reads past the memory in one composite, on a
// thread of its own.
//
// Beside readers an arm goes to and fro between their places and the measured ones, and a request of 512 KiB took 12 to 210 ms: as
// if bytes were dear, so too little was read ahead from then on. So those who are about to ask the medium wait until it is
// measured, for kMostHeld after it began at most, once in the life of a store that is open. Who has it in memory does not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "core/base/mutex.h"
#include "core/composite/read_ahead.h"
#include "core/object/object_store.h"

namespace cffs {

// The least of several times that nobody can make shorter, only longer.
class ShortestTime {
 public:
  void add(std::uint64_t ns);
  std::uint64_t least() const { return least_; }
  // Another one took about as long: neither was held up.
  bool confirmed() const;

 private:
  std::uint64_t least_ = UINT64_MAX, second_ = UINT64_MAX;
};

class MediumMeasure {
 public:
  static constexpr std::chrono::milliseconds kMostHeld{100};
  using Open = std::function<Result<std::shared_ptr<Object>>(CompositeId)>;
  MediumMeasure(Open open, ReadAhead& read_ahead, std::chrono::milliseconds most_held = kMostHeld)
      : open_(std::move(open)), read_ahead_(read_ahead), most_held_(most_held) {}
  ~MediumMeasure() { stop(); }

  // Measures in that composite, of kMeasurable bytes at least, and tells the read-ahead. Returns at once; where no thread can be
  // had, or the composite cannot be read, nothing is told. Only the first call does anything.
  void begin(CompositeId composite);
  // For who is about to ask the medium; returns at once where it is not being measured.
  void wait_while_measured() {
    if (holding_.load(std::memory_order_relaxed)) hold();
  }
  // For good; returns when nothing is read any more.
  void stop();

 private:
  void hold();
  void let_go();
  void measure(CompositeId composite);
  // Nanoseconds that it took to read so many bytes; nullopt: they could not be read.
  static std::optional<std::uint64_t> time_of(const Object& object, std::uint64_t offset, Bytes out);

  const Open open_;
  ReadAhead& read_ahead_;
  const std::chrono::milliseconds most_held_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> holding_{false};  // set and cleared under mutex_

  Mutex mutex_;  // leaf
  CondVar over_;
  std::chrono::steady_clock::time_point hold_until_ CFFS_GUARDED_BY(mutex_);
  bool begun_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
