// The flags that analyze and evaluate share, and what they mean.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "replay/analysis/analysis.h"
#include "replay/analysis/evaluation.h"

namespace cffs::cli {

struct AnalysisFlags {
  std::string format = "auto", algorithm = "closed", min_support = "auto", stream = "auto",
              crawlers = "apart";
  std::string session_gap = "auto", max_bytes = "1M", below, prefix, disk = "hdd", disk_at = ".",
              exchange_bytes, rest_bytes, table_bytes, reading = "group";
  double min_confidence = 0.3, max_bad = 0.1;
  std::size_t max_size = 0, max_itemsets = 2'000'000, session_max_files = 400, batch = 50'000;
};

void add_analysis_flags(CLI::App& command, AnalysisFlags& flags);
// The disk that is judged for; measured where that is asked for, which takes a few seconds.
Result<replay::DiskProfile> judged_disk(const AnalysisFlags& flags);
// What it costs, for people.
std::string described(const replay::DiskProfile& disk);
replay::Reading judged_reading(const AnalysisFlags& flags);
Result<replay::AnalysisOptions> analysis_options(const AnalysisFlags& flags, const replay::DiskProfile& disk);

}  // namespace cffs::cli
