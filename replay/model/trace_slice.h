// A part of a trace as a trace of its own.
#pragma once

#include "replay/trace/trace.h"

namespace cffs::replay {

struct SliceOptions {
  double from_s = 0, to_s = 1e18;                     // recorded time
  std::uint64_t first = 0, last = ~std::uint64_t{0};  // operations, counted from 1; 0: from the start
  std::string below;  // a directory of the trace, which becomes the root; slashes around it are nothing
};

// Its initial tree is the one that the operations before it left; files that were open stay open. What comes into the directory, or
// leaves it, has its other name below kOutside, as in recordings.
Trace slice(const Trace& trace, const SliceOptions& options);

}  // namespace cffs::replay
