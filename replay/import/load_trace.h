// Whatever holds operations, as a trace: trace files, web logs, strace output, tab-separated calls.
#pragma once

#include <functional>

#include "core/base/error.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

struct LoadOptions {
  std::string format = "auto";  // auto, trace, common, combined, json, w3c, s3, strace, calls
  std::string below = "/";      // of recordings: only what is below this directory; it becomes the root
  std::string initial;          // of recordings: the tree before, as a list; empty: inferred
  // Of web logs: copies of the site as virtual hosts; 0: so many that the tree has `min_files`.
  unsigned hosts = 1;
  std::uint64_t min_files = 1;
  double max_bad = 0.1;  // share of malformed lines from which on the input is refused
};

struct LoadReport {
  std::string format;
  std::uint64_t lines = 0, malformed = 0;
  std::uint64_t passed_over = 0;  // well-formed, but no operation on a file below the root
  std::uint64_t surprises = 0;    // outcomes that do not follow from what was recorded
  std::string first_surprise;
  std::uint64_t unlisted_parents = 0;  // directories made because the list of the tree before needs them
  std::string first_unlisted;
  std::uint64_t too_large = 0;       // operations and files with more bytes than a trace can hold: left out
  std::uint64_t from_outside = 0;    // names that came from outside of the root, or went there
  std::vector<std::string> samples;  // of malformed lines
  std::uint64_t site_files = 0;
  unsigned hosts = 1;
};

Result<Trace> load_trace(const std::vector<std::string>& files, const LoadOptions& options,
                         LoadReport& report, const std::function<void(std::uint64_t lines)>& progress = {});

}  // namespace cffs::replay
