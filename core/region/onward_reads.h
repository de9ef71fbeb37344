// Reading ahead for one object of a region store, as the kernel does it for a file: who reads on behind where the last read that
// waited for the device ended is given a window that doubles, and others nothing. Composites do without: they have a read-ahead of
// their own (core/composite/read_ahead.h).
//
// Any thread; two that read at once may make one window of two, which costs bytes and nothing else.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/region/block_device.h"

namespace cffs::region {

class OnwardReads {
 public:
  // Bytes. A gap is what somebody skips who goes on all the same: blocks that memory had.
  static constexpr std::uint64_t kFirst = 64u << 10, kMost = 1u << 20, kGap = 64u << 10;

  // What to fetch before [offset, offset + length) is read, which memory did not have; length 0: nothing.
  DeviceRange before(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t end = offset + length;
    const std::uint64_t ended = ended_.exchange(end, std::memory_order_relaxed);
    const std::uint64_t fetched = fetched_.load(std::memory_order_relaxed);
    if (offset < ended || offset > std::max(ended, fetched) + kGap || ended == 0) {
      window_.store(0, std::memory_order_relaxed);
      fetched_.store(0, std::memory_order_relaxed);
      return {};
    }
    const std::uint64_t window = std::clamp(2 * window_.load(std::memory_order_relaxed), kFirst, kMost);
    if (fetched >= end + window / 2) return {};
    window_.store(window, std::memory_order_relaxed);
    fetched_.store(end + window, std::memory_order_relaxed);
    const std::uint64_t from = std::max(offset, fetched);
    return {from, end + window - from};
  }

 private:
  std::atomic<std::uint64_t> ended_{0}, fetched_{0}, window_{0};
};

}  // namespace cffs::region
