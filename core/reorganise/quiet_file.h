// Whether a file has been left alone for long enough to be moved, or to get checksums.
#pragma once

#include "core/base/clock.h"
#include "core/table/inode.h"

namespace cffs {

// Changed last at `before_ns` or earlier. A time that is yet to come was given by a clock that has been set back since, and says nothing of how
// long ago that was: to wait for it would be for as long as the clock was wrong, with a look at the file's directory in every pass.
inline bool is_quiet(const Inode& inode, std::int64_t before_ns, const Clock& clock) {
  return inode.ctime_ns <= before_ns || inode.ctime_ns > clock.now_ns();
}

}  // namespace cffs
