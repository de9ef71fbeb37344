// What follows from a prediction for somebody who has such a tree and such a disk: whether cffs is for it, how to make the store,
// who gains, and who loses. Rules, each with its reason as a sentence.
#pragma once

#include <string>
#include <vector>

#include "core/advise/prediction.h"

namespace cffs {

enum class Worth {
  yes,
  little,  // gains something, for some
  no,
};

struct Remark {
  std::string code;  // stable, for programs
  std::string text;  // one sentence
};

struct Recommendation {
  Worth worth = Worth::yes;
  std::string policy, compression;
  bool dedupe = false;
  std::vector<Remark> wins, losses, against;

  // The one that this policy and compression make.
  const StorePrediction& store(const Prediction& prediction) const;
};

// What a log says, where there is one (replay/analysis).
struct LogFindings {
  std::string best_policy;  // on the disk
  double latency_of_none = 1;
  std::uint64_t groups = 0;
  double covered = 0;  // share of the accesses that are to files of a mined group
  double missing = 0;  // share of its files that are not in the tree
};

Recommendation recommend(const TreeSurvey& survey, const Prediction& prediction, const Duplicates& duplicates,
                         const DiskPrediction& on, const LogFindings* log);

// "yes", "little", "no"
std::string name_of(Worth worth);

}  // namespace cffs
