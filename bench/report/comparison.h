// Runs of several targets side by side: for each benchmark, workload and phase what each target reached, and what that is
// of a baseline, with confidence intervals.
#pragma once

#include <string>
#include <vector>

#include "replay/results/run.h"
#include "replay/results/statistics.h"

namespace cffs::bench {

struct TargetResult {
  std::string target;
  std::vector<const replay::Run*> runs;
  replay::Estimate rate;               // operations a second
  replay::Estimate rate_of_baseline;   // > 1: faster
  replay::LatencyHistogram latencies;  // of all runs
  // Medians of runs, of what was measured.
  std::map<std::string, double> metrics;
};

struct PhaseResult {
  std::string phase;
  std::vector<TargetResult> targets;  // in the order in which they were run first
  const TargetResult* find(const std::string& target) const;
};

struct Comparison {
  std::string benchmark, workload, baseline;
  std::vector<PhaseResult> phases;
  std::vector<std::string> targets;
  std::map<std::string, std::string> environment;  // facts that all runs share; others say "differs"
  unsigned rounds = 0;
};

// The runs must outlive the comparisons. `baseline` empty: ext4 where it was run, else the first target.
std::vector<Comparison> compare(const std::vector<replay::Run>& runs, const std::string& baseline);

// "ext4" -> "native ext4" and the like, for people.
std::string title_of(const std::string& target);
// A colour that belongs to a target, readable on light and dark ground.
std::string colour_of(const std::string& target, std::size_t index);

}  // namespace cffs::bench
