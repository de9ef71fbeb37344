// What was read beyond what was asked for, and what it was good for.
#pragma once

#include <cstdint>

namespace cffs {

// All in bytes, but for `handed_files`, since the store was opened.
struct ReadAheadCounters {
  std::uint64_t asked = 0;  // read beyond members
  std::uint64_t used = 0;   // of that, what a reader then came to
  // What a request is worth to a reader alone; 0: the medium was not measured yet.
  std::uint64_t worth = 0;
  std::uint64_t bytes_per_second =
      0;  // that the medium moves to one reader; 0: as above, or too many to be seen
  std::uint64_t break_even =
      0;  // what a request is worth on this medium, to those who wait side by side lately
  // Put into the readers' cache before they asked (core/fs/group_hand_over.cc).
  std::uint64_t handed_files = 0, handed_bytes = 0;
};

}  // namespace cffs
