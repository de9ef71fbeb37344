#include "replay/analysis/trial.h"

#include <algorithm>
#include <memory>

#include "core/base/readable_text.h"
#include "core/plan/plan_database.h"
#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "grouping/none_policy.h"
#include "grouping/reference_policy.h"
#include "replay/analysis/observation.h"

namespace cffs::replay {
namespace {

// Lays the tree out in groups, and replays the accesses on that.
class Judge {
 public:
  Judge(const Observed& observed, const TrialOptions& options, const Progress& on_progress)
      : observed_(observed), options_(options), on_progress_(on_progress) {
    for (const grouping::Access& a : observed.accesses) accesses_.push_back(a.item);
  }

  Layout lay_out(std::string name, const grouping::Policy& policy) const {
    return replay::lay_out(
        std::move(name), policy, observed_.tree.files, [&](std::size_t i) -> std::optional<std::string> {
          return readable_text(options_.tree + "/" + observed_.tree.files[i].path);
        });
  }

  // What comes after the first `cut` accesses, which fill the cache first, unless it is to be cold.
  Judgement judge(const Layout& layout, std::size_t cut) const {
    if (on_progress_) on_progress_({"judging " + layout.name});
    Judgement judgement{layout.name, {}};
    for (const DiskProfile& disk : options_.disks) judgement.on.push_back(judge(layout, cut, disk));
    return judgement;
  }

 private:
  Evaluation judge(const Layout& layout, std::size_t cut, const DiskProfile& disk) const {
    const Model model{options_.cache_bytes, options_.reading, disk};
    if (!options_.cold) return evaluate(layout, observed_.tree.files, accesses_, model, cut);
    const std::vector<grouping::Item> rest(accesses_.begin() + static_cast<std::ptrdiff_t>(cut),
                                           accesses_.end());
    return evaluate(layout, observed_.tree.files, rest, model);
  }

  const Observed& observed_;
  const TrialOptions& options_;
  const Progress& on_progress_;
  std::vector<grouping::Item> accesses_;
};

// The layouts that are the same whatever is mined.
struct Fixed {
  std::vector<Layout> policies, plans;
};

Result<Fixed> fixed_layouts(const Judge& judge, const TrialOptions& options, const Progress& on_progress) {
  Fixed fixed;
  fixed.policies.push_back(judge.lay_out("none", grouping::NonePolicy()));
  fixed.policies.push_back(judge.lay_out("directory", grouping::DirectoryPolicy()));
  if (!options.tree.empty()) {
    if (on_progress) on_progress({"reading documents"});
    fixed.policies.push_back(judge.lay_out("reference", grouping::ReferencePolicy(options.references)));
  }
  for (const std::string& path : options.plans) {
    CFFS_TRY(const grouping::Plan given, read_plan(path));
    fixed.plans.push_back(
        judge.lay_out(path, grouping::FrequencyPolicy(std::make_shared<grouping::PlanGroups>(given))));
  }
  return fixed;
}

}  // namespace

std::size_t Trial::best(std::size_t disk) const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < judgements.size(); ++i) {
    if (ms_per_access(judgements[i], disk) < 0.98 * ms_per_access(judgements[best], disk)) best = i;
  }
  return best;
}

Result<Trial> try_policies(const std::vector<std::string>& logs, const TrialOptions& options,
                           const WorkTeller& on_progress) {
  CFFS_TRY(const Observed observed, observe(logs, options.analysis, options.tree, on_progress));
  Trial trial;
  trial.files = observed.tree.files.size();
  trial.files_not_in_tree = observed.tree.missing;
  for (const auto& f : observed.tree.files) trial.bytes += f.size;
  trial.has_reference = !options.tree.empty();
  trial.disks = options.disks;

  const Judge judge(observed, options, on_progress);
  CFFS_TRY(const Fixed fixed, fixed_layouts(judge, options, on_progress));
  const auto cut_at = [&](double share) {
    return static_cast<std::size_t>(share * static_cast<double>(observed.accesses.size()));
  };
  const auto judge_all = [&](std::size_t cut) -> Result<std::vector<Judgement>> {
    std::vector<Judgement> found;
    for (const auto& layout : fixed.policies) found.push_back(judge.judge(layout, cut));
    CFFS_TRY(const auto mined, mine(observed, cut, options.analysis, on_progress));
    trial.mined_groups = mined->size();
    found.push_back(judge.judge(judge.lay_out("frequency", grouping::FrequencyPolicy(mined)), cut));
    for (const auto& layout : fixed.plans) found.push_back(judge.judge(layout, cut));
    return found;
  };
  for (const double share : options.splits) {
    CFFS_TRY(auto found, judge_all(cut_at(share)));
    trial.splits.push_back({share, std::move(found)});
  }
  trial.train_accesses = cut_at(options.train);
  trial.test_accesses = observed.accesses.size() - trial.train_accesses;
  CFFS_TRY(trial.judgements, judge_all(trial.train_accesses));
  return trial;
}

}  // namespace cffs::replay
