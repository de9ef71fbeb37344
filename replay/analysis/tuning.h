// Which way of grouping wins on a log that nobody has seen: each is mined from the earlier accesses and judged on the later
// ones, the validation tail, with a cache that the earlier ones filled.
#pragma once

#include "replay/analysis/analysis.h"
#include "replay/analysis/evaluation.h"

namespace cffs::replay {

struct TuningOptions {
  // Shares of the accesses that mining sees: a choice that does well by chance behind one of them will not behind both.
  std::vector<double> train = {0.5, 0.7};
  Model model;
};

struct TuningChoice {
  std::string algorithm;          // as --algorithm
  std::uint64_t rest_bytes = 0;   // as --rest-bytes
  std::uint64_t table_bytes = 0;  // as --table-bytes
  Evaluation evaluation;          // of all tails together
};

struct Tuning {
  std::uint64_t accesses = 0, tail_accesses = 0;  // of the log; that were judged, all tails together
  std::vector<TuningChoice> choices;              // all that were tried
  std::size_t best = 0;              // the least predicted latency; the first of those within a thousandth
  std::vector<Evaluation> policies;  // none, directory: what doing without a plan costs
  // Policy that costs less than the best choice by more than 1 %; null: there is none.
  const Evaluation* better_policy(const DiskProfile& disk) const;
};

// No groups at all, and algorithms closed and benefit, each with the other files alone and by directory at several sizes, and with
// files of at most 4 KiB, a store's default for its table, in groups or in the table.
Result<Tuning> tune(const std::vector<std::string>& logs, const AnalysisOptions& options,
                    const TuningOptions& tuning, const WorkTeller& on_progress);

}  // namespace cffs::replay
