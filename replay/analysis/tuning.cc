#include "replay/analysis/tuning.h"

#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "grouping/none_policy.h"
#include "replay/analysis/observation.h"

namespace cffs::replay {
namespace {

constexpr double kTie = 0.99;           // of a policy without a plan
constexpr double kClearlyLess = 0.999;  // of a choice that mines more
// Which files stay in the table: none, those that policy none keeps there by default.
constexpr std::uint64_t kTableBytes[] = {0, 4096};
// Of a directory's group; 0: each file alone. The largest first: what is nearest to a mount's default wins a tie.
constexpr std::uint64_t kRestBytes[] = {grouping::kGroupBytes, 256 * 1024, 64 * 1024, 0};

}  // namespace

const Evaluation* Tuning::better_policy(const DiskProfile& disk) const {
  const Evaluation* better = nullptr;
  double least = kTie * choices[best].evaluation.ms_per_access(disk);
  for (const Evaluation& policy : policies) {
    if (policy.ms_per_access(disk) >= least) continue;
    least = policy.ms_per_access(disk);
    better = &policy;
  }
  return better;
}

Result<Tuning> tune(const std::vector<std::string>& logs, const AnalysisOptions& options,
                    const TuningOptions& tuning, const WorkTeller& on_progress) {
  CFFS_TRY(const Observed observed, observe(logs, options, "", on_progress));
  Tuning tuned;
  tuned.accesses = observed.accesses.size();
  std::vector<grouping::Item> accesses;
  for (const grouping::Access& a : observed.accesses) accesses.push_back(a.item);
  const auto cut_at = [&](double share) {
    return static_cast<std::size_t>(share * static_cast<double>(accesses.size()));
  };
  const auto judge = [&](Evaluation& total, const grouping::Policy& policy, std::size_t cut) {
    if (on_progress) on_progress({"judging " + total.name});
    total.add(evaluate(lay_out(total.name, policy, observed.tree.files), observed.tree.files, accesses,
                       tuning.model, cut));
  };
  tuned.policies.resize(2);
  tuned.policies[0].name = "none";
  tuned.policies[1].name = "directory";
  for (const double share : tuning.train) {
    tuned.tail_accesses += accesses.size() - cut_at(share);
    judge(tuned.policies[0], grouping::NonePolicy(), cut_at(share));
    judge(tuned.policies[1], grouping::DirectoryPolicy(), cut_at(share));
  }
  for (const char* algorithm : {"none", "closed", "benefit"}) {
    for (const std::uint64_t table_bytes : kTableBytes) {
      AnalysisOptions tried = options;
      tried.mining.algorithm = algorithm;
      tried.mining.table_bytes = table_bytes;
      const std::size_t first = tuned.choices.size();
      for (const std::uint64_t rest_bytes : kRestBytes) {
        tuned.choices.push_back({algorithm, rest_bytes, table_bytes, {}});
        tuned.choices.back().evaluation.name = algorithm;
      }
      for (const double share : tuning.train) {
        CFFS_TRY(const auto mined, mine(observed, cut_at(share), tried, on_progress));
        const grouping::FrequencyPolicy policy(mined);
        for (std::size_t c = first; c < tuned.choices.size(); ++c) {
          mined->set_rest_bytes(tuned.choices[c].rest_bytes);
          judge(tuned.choices[c].evaluation, policy, cut_at(share));
        }
      }
    }
  }
  const auto ms = [&](std::size_t c) { return tuned.choices[c].evaluation.ms_per_access(tuning.model.disk); };
  for (std::size_t c = 1; c < tuned.choices.size(); ++c) {
    if (ms(c) < kClearlyLess * ms(tuned.best)) tuned.best = c;
  }
  return tuned;
}

}  // namespace cffs::replay
