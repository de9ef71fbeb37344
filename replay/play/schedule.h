// A trace made ready to be played: which thread plays what, what each operation has to wait for, and what it must return.
//
// Order kept: each client's own; between clients, operations that touch the same name, file, listing or open file, unless
// they commute (two reads; two new names in one directory); a child's first operation after the fork, a parent's next one
// after the end it waited for. All else may run at once. So every outcome is decided before the first operation runs,
// whatever the threads' luck, and is checked. Rules of this kind are known from ARTC (Weiss et al., FAST'13).
//
// Waiting is by counting: an operation names, for other threads, how far they must have come. As every thread plays in
// trace order, nothing can wait in a circle.
#pragma once

#include <vector>

#include "replay/model/model_tree.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

struct Expected {
  int error = 0;
  bool checkable = false;    // `length` is known
  bool compared = true;      // success or failure can be told from the trace
  std::uint64_t length = 0;  // bytes, size or entries
  std::uint32_t first_segment = 0, segments = 0;
};

struct Awaited {
  std::uint32_t thread = 0;
  std::uint32_t operations = 0;  // that it must have completed
};

struct Step {
  std::uint32_t operation = 0;  // index into the trace's
  std::uint32_t first_awaited = 0, awaited = 0;
  std::int64_t start_ns = 0;  // with recorded think time, idle stretches cut out
  Expected expected;
};

struct ScheduleOptions {
  unsigned threads = 1;
  std::int64_t longest_idle_ns = 1'000'000'000;  // stretches in which nobody does anything are cut to this
  bool contents = true;                          // what reads must return is kept; else how much
  std::size_t most_segments = kMostSegments;
  // A file of a hundred thousand appends has as many pieces, and each read of all of it names them all. 24 bytes each.
  static constexpr std::size_t kMostSegments = std::size_t{64} << 20;
};

struct Schedule {
  std::vector<std::vector<Step>> threads;  // by thread, in trace order
  std::vector<Awaited> awaited;
  std::vector<Segment> segments;
  std::uint32_t handles = 0;  // largest number
  std::uint64_t operations = 0;
  // Failed when recorded for a reason outside the trace (permissions, devices): not played.
  std::uint64_t left_out = 0;
  // Succeeded when recorded, but nothing in the trace made what they found: they are played, and fail.
  std::uint64_t unexplained = 0;
  std::uint64_t waits = 0;         // dependencies between threads that remain
  bool too_many_segments = false;  // contents were to be kept, and are not: reads have too many pieces
};

// The trace must outlive the schedule.
Schedule make_schedule(const Trace& trace, const ScheduleOptions& options);

}  // namespace cffs::replay
