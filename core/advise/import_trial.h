// How fast this machine imports such files, as it is now: some of the composites that were sampled, which are in memory since, are
// imported into a store in memory by the import's own code, with its workers. What a medium costs is not in it.
#pragma once

#include <functional>
#include <vector>

#include "core/advise/content_sample.h"

namespace cffs {

struct ImportPace {
  Compression how;
  double seconds_a_byte = 0;  // of composites' plain bytes; by the clock, files and directories in it
  std::uint64_t bytes = 0;    // that it was measured by
};

struct ImportTrialOptions {
  unsigned jobs = 2;
  std::uint64_t bytes = 64u << 20;  // of each way, at most
  double seconds = 1.5;             // the same
  std::function<bool()> go_on = [] { return true; };
};

// For each way; where too little could be read to tell, without an entry.
std::vector<ImportPace> try_imports(const TreeSurvey& survey, const ContentSample& sample,
                                    const std::vector<Compression>& ways, const ImportTrialOptions& options);

}  // namespace cffs
