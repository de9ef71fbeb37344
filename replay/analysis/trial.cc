#include "replay/analysis/trial.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/plan/plan_database.h"
#include "grouping/directory_policy.h"
#include "grouping/frequency_policy.h"
#include "grouping/reference_policy.h"

namespace cffs::replay {
namespace {

namespace fs = std::filesystem;

// Files of the tree in tree order, and the place of each logged file among them; files that the tree lacks are added.
struct Tree {
  std::vector<grouping::Candidate> files;
  std::vector<grouping::Item> place_of;  // index: item of the log
  std::uint64_t missing = 0;
};

// Regular files, by path relative to the directory, and their sizes.
Result<std::vector<std::pair<std::string, std::uint64_t>>> files_below(const std::string& directory) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  std::error_code problem;
  auto entries =
      fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && entries != fs::recursive_directory_iterator(); entries.increment(problem)) {
    std::error_code gone;
    if (!entries->is_regular_file(gone) || entries->is_symlink(gone)) continue;
    const std::uint64_t size = entries->file_size(gone);
    if (!gone) found.emplace_back(entries->path().lexically_relative(directory).string(), size);
  }
  if (problem) return fail(problem.value(), "tree " + directory);
  return found;
}

Result<Tree> tree_of(const std::string& directory, const std::vector<LoggedFile>& logged) {
  Tree tree;
  std::unordered_map<std::string, grouping::Item> by_path;
  std::unordered_map<std::string, std::uint64_t> directories;
  const auto add = [&](const std::string& path, std::uint64_t size) {
    const std::size_t slash = path.rfind('/');
    const auto number =
        directories.try_emplace(slash == std::string::npos ? "" : path.substr(0, slash), directories.size())
            .first->second;
    by_path.emplace(path, static_cast<grouping::Item>(tree.files.size()));
    tree.files.push_back({number, size, path, 0});
  };
  std::vector<std::pair<std::string, std::uint64_t>> found;
  if (!directory.empty()) {
    CFFS_TRY(found, files_below(directory));
  }
  std::unordered_set<std::string> known;
  for (const auto& [path, size] : found) known.insert(path);
  for (const LoggedFile& f : logged) {
    if (f.path.empty() || known.contains(f.path)) continue;
    if (!directory.empty()) ++tree.missing;
    found.emplace_back(f.path, f.bytes);
  }
  std::sort(found.begin(), found.end());
  // A directory's own files, then its directories': as readers sweep, and as files are imported.
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first.substr(0, a.first.rfind('/') + 1) < b.first.substr(0, b.first.rfind('/') + 1);
  });
  for (const auto& [path, size] : found) add(path, size);
  for (const LoggedFile& f : logged) {
    const auto it = by_path.find(f.path);
    tree.place_of.push_back(it == by_path.end() ? ~grouping::Item{0} : it->second);
  }
  return tree;
}

using Progress = std::function<void(const std::string&)>;

// The accesses of all logs, in their order, as numbers of the tree's files; and that tree.
struct Observed {
  Tree tree;
  std::vector<grouping::Access> accesses;
  LogFormat format = LogFormat::automatic;
};

Result<Observed> observe(const std::vector<std::string>& logs, const TrialOptions& options,
                         const Progress& on_progress) {
  AccessReader reader(options.analysis.reader);
  Observed observed;
  for (const std::string& log : logs) {
    const auto report = [&](const LogInput& input) {
      if (on_progress) on_progress(input.name + ": " + std::to_string(input.lines) + " lines");
    };
    CFFS_TRY_VOID(reader.read(
        log, [&](const grouping::Access& a) { observed.accesses.push_back(a); }, report));
  }
  if (observed.accesses.empty()) {
    return fail(Error::usage(logs.front() + ": no successful access in it"));
  }
  observed.format = reader.format();
  reader.settle_directories();
  CFFS_TRY(observed.tree, tree_of(options.tree, reader.files()));
  const std::vector<grouping::Item>& place_of = observed.tree.place_of;
  // Files whose name is a directory's have no place.
  std::erase_if(observed.accesses,
                [&](const grouping::Access& a) { return place_of[a.item] == ~grouping::Item{0}; });
  for (grouping::Access& a : observed.accesses) a.item = place_of[a.item];
  return observed;
}

// What mining finds in the first `count` accesses.
Result<std::shared_ptr<grouping::PlanGroups>> mine(const Observed& observed, std::size_t count,
                                                   const AnalysisOptions& options,
                                                   const Progress& on_progress) {
  grouping::Transactions transactions;
  bool kept = true;
  grouping::Sessions sessions(session_options(options, observed.format),
                              [&](std::span<const grouping::Item> s) { kept = transactions.add(s) && kept; });
  for (std::size_t i = 0; i < count; ++i) {
    grouping::Access a = observed.accesses[i];
    if (options.crawlers == Crawlers::mixed) a.crawler = false;
    if (options.one_stream) a.stream = 0;
    sessions.add(a);
  }
  sessions.finish();
  if (!kept) return fail(ENOSPC, "the temporary file for sessions; TMPDIR names its place");
  std::vector<std::uint64_t> sizes;
  for (const auto& f : observed.tree.files) sizes.push_back(f.size);
  const auto mined = grouping::mine_groups(transactions, sizes, options.mining, on_progress);
  auto plan = std::make_shared<grouping::PlanGroups>();
  for (const auto& group : mined.groups) {
    std::vector<grouping::PlanGroups::Member> members;
    for (const grouping::Item item : group.items) members.push_back({observed.tree.files[item].path, 0});
    plan->add_group(std::move(members));
  }
  return plan;
}

// Lays the tree out in groups, and replays the later accesses on that.
class Judge {
 public:
  Judge(const Observed& observed, std::size_t cut, const TrialOptions& options, const Progress& on_progress)
      : files_(observed.tree.files), options_(options), on_progress_(on_progress) {
    for (std::size_t i = cut; i < observed.accesses.size(); ++i) test_.push_back(observed.accesses[i].item);
  }
  void judge(std::string name, const std::vector<grouping::Group>& groups) {
    if (on_progress_) on_progress_("judging " + name);
    const auto layout = grouping::layout_of(std::move(name), files_, groups);
    evaluations_.push_back(grouping::evaluate(layout, files_, test_, options_.cache_bytes));
  }
  void judge(std::string name, const grouping::Policy& policy) {
    const grouping::ReadContent read = [&](std::size_t i) -> std::optional<std::string> {
      std::ifstream file(options_.tree + "/" + files_[i].path, std::ios::binary);
      if (!file) return {};
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    judge(std::move(name), policy.group(files_, grouping::kGroupBytes, read));
  }
  std::vector<grouping::Evaluation> take() { return std::move(evaluations_); }

 private:
  const std::vector<grouping::Candidate>& files_;
  const TrialOptions& options_;
  const Progress& on_progress_;
  std::vector<grouping::Item> test_;
  std::vector<grouping::Evaluation> evaluations_;
};

}  // namespace

std::size_t Trial::best(const grouping::DiskProfile& disk) const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < evaluations.size(); ++i) {
    if (evaluations[i].ms_per_access(disk) < 0.98 * evaluations[best].ms_per_access(disk)) best = i;
  }
  return best;
}

Result<Trial> try_policies(const std::vector<std::string>& logs, const TrialOptions& options,
                           const std::function<void(const std::string&)>& on_progress) {
  CFFS_TRY(const Observed observed, observe(logs, options, on_progress));
  Trial trial;
  const auto cut = static_cast<std::size_t>(options.train * static_cast<double>(observed.accesses.size()));
  trial.train_accesses = cut;
  trial.test_accesses = observed.accesses.size() - cut;
  trial.files = observed.tree.files.size();
  trial.files_not_in_tree = observed.tree.missing;
  for (const auto& f : observed.tree.files) trial.bytes += f.size;
  trial.has_reference = !options.tree.empty();

  Judge judge(observed, cut, options, on_progress);
  judge.judge("none", std::vector<grouping::Group>());
  judge.judge("directory", grouping::DirectoryPolicy());
  if (trial.has_reference) {
    if (on_progress) on_progress("reading documents");
    judge.judge("reference", grouping::ReferencePolicy(options.references));
  }
  CFFS_TRY(const auto mined, mine(observed, cut, options.analysis, on_progress));
  trial.mined_groups = mined->size();
  judge.judge("frequency", grouping::FrequencyPolicy(mined));
  for (const std::string& path : options.plans) {
    CFFS_TRY(const grouping::Plan given, read_plan(path));
    judge.judge(path, grouping::FrequencyPolicy(std::make_shared<grouping::PlanGroups>(given)));
  }
  trial.evaluations = judge.take();
  return trial;
}

}  // namespace cffs::replay
