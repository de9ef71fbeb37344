// Which way of grouping wins on a log that nobody has seen: each is mined from the earlier accesses and judged on the later
// ones, the validation tail, with a cache that the earlier ones filled.
#pragma once

#include "grouping/evaluation.h"
#include "replay/analysis/analysis.h"

namespace cffs::replay {

struct TuningOptions {
  double train = 0.7;  // share of the accesses that mining sees
  std::uint64_t cache_bytes = 64u << 20;
  grouping::DiskProfile disk;
};

struct TuningChoice {
  std::string algorithm;         // as --algorithm
  std::uint64_t rest_bytes = 0;  // as --rest-bytes
  grouping::Evaluation evaluation;
};

struct Tuning {
  std::uint64_t train_accesses = 0, tail_accesses = 0;
  std::vector<TuningChoice> choices;           // all that were tried
  std::size_t best = 0;                        // the least predicted latency; the first of those within 1 %
  std::vector<grouping::Evaluation> policies;  // none, directory: what doing without a plan costs
  // Policy that costs less than the best choice by more than 1 %; null: there is none.
  const grouping::Evaluation* better_policy(const grouping::DiskProfile& disk) const;
};

// Algorithms closed and benefit, each with the other files alone and by directory at several sizes.
Result<Tuning> tune(const std::vector<std::string>& logs, const AnalysisOptions& options,
                    const TuningOptions& tuning, const std::function<void(const std::string&)>& on_progress);

}  // namespace cffs::replay
