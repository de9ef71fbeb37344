// What is in a trace, in numbers.
#pragma once

#include <array>

#include "replay/trace/trace.h"

namespace cffs::replay {

struct CallSummary {
  std::uint64_t calls = 0, failed = 0, bytes = 0;
};

struct TraceSummary {
  std::array<CallSummary, kCalls> calls{};
  std::uint64_t operations = 0, clients = 0;
  std::uint64_t paths_touched = 0, files_opened = 0;
  double seconds = 0;       // recorded
  double idle_seconds = 0;  // of stretches of more than a second without an operation
  std::uint64_t initial_files = 0, initial_directories = 0, initial_symlinks = 0, initial_bytes = 0;
  bool changes = false;  // whether it changes its tree
};

TraceSummary summary_of(const Trace& trace);
// Whether a call changes what is in the tree (attributes aside).
bool changes_tree(const Operation& operation);

}  // namespace cffs::replay
