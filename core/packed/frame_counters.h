// How often frames were decompressed, and what that cost.
#pragma once

#include <cstdint>

namespace cffs {

// Since the store was opened.
struct FrameCounters {
  std::uint64_t decompressed = 0;  // frames
  std::uint64_t plain_bytes = 0;   // that came of it
  std::uint64_t nanoseconds = 0;   // that it took, on all threads
  std::uint64_t found = 0;         // frames that were wanted and in memory
};

}  // namespace cffs
