// Which policy would win on a log: each is judged on the later part of it, what is mined is mined from the earlier, which also
// fills the cache.
#pragma once

#include "grouping/reference/graph.h"
#include "replay/analysis/analysis.h"
#include "replay/analysis/evaluation.h"

namespace cffs::replay {

struct TrialOptions {
  AnalysisOptions analysis;
  double train = 0.7;          // share of the accesses that mining sees
  std::vector<double> splits;  // other shares to judge at
  bool cold = false;           // nothing fills the cache before
  std::uint64_t cache_bytes = 64u << 20;
  Reading reading = Reading::group;
  std::vector<DiskProfile> disks = disk_profiles();
  std::string tree;  // directory with the site's or project's files; empty: the log's files alone
  std::vector<std::string> plans;  // plan files to judge as well
  grouping::ReferenceOptions references;
};

// A policy on each of the disks, in the order of TrialOptions.
struct Judgement {
  std::string name;
  std::vector<Evaluation> on;
};

// What all policies do where mining sees that share of the accesses.
struct Split {
  double train = 0;
  std::vector<Judgement> judgements;  // as in Trial
};

struct Trial {
  std::uint64_t train_accesses = 0, test_accesses = 0, files = 0, files_not_in_tree = 0, bytes = 0;
  std::uint64_t mined_groups = 0;
  bool has_reference = false;         // only with a tree
  std::vector<Judgement> judgements;  // none, directory, reference, frequency, plans
  std::vector<Split> splits;
  std::vector<DiskProfile> disks;
  // The judgement with the least predicted latency on that disk, by its number; ties go to the simpler policy.
  std::size_t best(std::size_t disk) const;
  double ms_per_access(const Judgement& judgement, std::size_t disk) const {
    return judgement.on[disk].ms_per_access(disks[disk]);
  }
};

Result<Trial> try_policies(const std::vector<std::string>& logs, const TrialOptions& options,
                           const WorkTeller& on_progress);

}  // namespace cffs::replay
