// The flags that analyze and evaluate share, and what they mean.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "replay/analysis/analysis.h"

namespace cffs::cli {

struct AnalysisFlags {
  std::string format = "auto", algorithm = "closed", min_support = "auto", stream = "auto",
              crawlers = "apart";
  std::string session_gap = "auto", max_bytes = "1M", below, prefix, disk = "hdd", exchange_bytes, rest_bytes,
              table_bytes;
  double min_confidence = 0.3, max_bad = 0.1;
  std::size_t max_size = 0, max_itemsets = 2'000'000, session_max_files = 400, batch = 50'000;
};

void add_analysis_flags(CLI::App& command, AnalysisFlags& flags);
Result<replay::AnalysisOptions> analysis_options(const AnalysisFlags& flags);

}  // namespace cffs::cli
