// Recordings kept as tab-separated calls (docs/TRACES.md, "calls"): one line a call, descriptors with their paths.
//
//   microseconds  pid  call  result  descriptor  path  second path  x  y
//
// Forks, dups and exits are not in there, so a descriptor is what its path says, and what a process left open is closed
// after its last line.
#pragma once

#include <functional>

#include "core/base/error.h"
#include "replay/import/trace_builder.h"

namespace cffs::replay {

struct CallsCounts {
  std::uint64_t lines = 0, malformed = 0, passed_over = 0;
  std::vector<std::string> samples;  // of malformed lines
};

Status import_calls(const std::string& file, TraceBuilder& builder, CallsCounts& counts,
                    const std::function<void(const CallsCounts&)>& progress);
// The tree before, as "type  mode  size  path  link-target" lines, '#' for comments; only what is below the root counts.
Result<std::vector<InitialEntry>> read_initial_tree(const std::string& file, TraceBuilder& builder);

}  // namespace cffs::replay
