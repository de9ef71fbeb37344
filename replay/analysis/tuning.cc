#include "replay/analysis/tuning.h"

#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "replay/analysis/observation.h"

namespace cffs::replay {
namespace {

constexpr double kTie = 0.99;
// Of a directory's group; 0: each file alone. The largest first: what is nearest to a mount's default wins a tie.
constexpr std::uint64_t kRestBytes[] = {grouping::kGroupBytes, 256 * 1024, 64 * 1024, 0};

}  // namespace

const grouping::Evaluation* Tuning::better_policy(const grouping::DiskProfile& disk) const {
  const grouping::Evaluation* better = nullptr;
  double least = kTie * choices[best].evaluation.ms_per_access(disk);
  for (const grouping::Evaluation& policy : policies) {
    if (policy.ms_per_access(disk) >= least) continue;
    least = policy.ms_per_access(disk);
    better = &policy;
  }
  return better;
}

Result<Tuning> tune(const std::vector<std::string>& logs, const AnalysisOptions& options,
                    const TuningOptions& tuning, const std::function<void(const std::string&)>& on_progress) {
  CFFS_TRY(const Observed observed, observe(logs, options.reader, "", on_progress));
  Tuning tuned;
  const auto cut = static_cast<std::size_t>(tuning.train * static_cast<double>(observed.accesses.size()));
  tuned.train_accesses = cut;
  tuned.tail_accesses = observed.accesses.size() - cut;
  std::vector<grouping::Item> accesses;
  for (const grouping::Access& a : observed.accesses) accesses.push_back(a.item);
  const auto judge = [&](const char* name, const std::vector<grouping::Group>& groups) {
    if (on_progress) on_progress(std::string("judging ") + name);
    const auto layout = grouping::layout_of(name, observed.tree.files, groups);
    return grouping::evaluate(layout, observed.tree.files, accesses, tuning.cache_bytes, cut);
  };
  tuned.policies = {
      judge("none", {}),
      judge("directory", grouping::DirectoryPolicy().group(observed.tree.files, grouping::kGroupBytes, {}))};
  for (const char* algorithm : {"closed", "benefit"}) {
    AnalysisOptions tried = options;
    tried.mining.algorithm = algorithm;
    CFFS_TRY(const auto mined, mine(observed, cut, tried, on_progress));
    for (const std::uint64_t rest_bytes : kRestBytes) {
      mined->set_rest_bytes(rest_bytes);
      const auto groups =
          grouping::FrequencyPolicy(mined).group(observed.tree.files, grouping::kGroupBytes, {});
      tuned.choices.push_back({algorithm, rest_bytes, judge(algorithm, groups)});
      const double best = tuned.choices[tuned.best].evaluation.ms_per_access(tuning.disk);
      if (tuned.choices.back().evaluation.ms_per_access(tuning.disk) < kTie * best)
        tuned.best = tuned.choices.size() - 1;
    }
  }
  return tuned;
}

}  // namespace cffs::replay
