#include "replay/trial.h"

#include <filesystem>
#include <fstream>
#include <unordered_map>

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
    std::error_code problem;
    auto entries =
        fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, problem);
    for (; !problem && entries != fs::recursive_directory_iterator(); entries.increment(problem)) {
      std::error_code gone;
      if (!entries->is_regular_file(gone) || entries->is_symlink(gone)) continue;
      found.emplace_back(entries->path().lexically_relative(directory).string(), entries->file_size(gone));
    }
    if (problem) return fail(problem.value(), "tree " + directory);
  }
  std::unordered_map<std::string, bool> known;
  for (const auto& [path, size] : found) known.emplace(path, true);
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
  AccessReader reader(options.analysis.reader);
  std::vector<grouping::Access> accesses;
  for (const std::string& log : logs) {
    const auto report = [&](const LogInput& input) {
      if (on_progress) on_progress(input.name + ": " + std::to_string(input.lines) + " lines");
    };
    CFFS_TRY_VOID(reader.read(
        log, [&](const grouping::Access& a) { accesses.push_back(a); }, report));
  }
  if (accesses.empty()) {
    return fail(Error::usage(logs.front() + ": no successful access in it"));
  }
  reader.settle_directories();
  CFFS_TRY(Tree tree, tree_of(options.tree, reader.files()));
  // Files whose name is a directory's have no place.
  std::erase_if(accesses,
                [&](const grouping::Access& a) { return tree.place_of[a.item] == ~grouping::Item{0}; });
  for (grouping::Access& a : accesses) a.item = tree.place_of[a.item];

  Trial trial;
  const auto cut = static_cast<std::size_t>(options.train * static_cast<double>(accesses.size()));
  trial.train_accesses = cut;
  trial.test_accesses = accesses.size() - cut;
  trial.files = tree.files.size();
  trial.files_not_in_tree = tree.missing;
  for (const auto& f : tree.files) trial.bytes += f.size;
  std::vector<grouping::Item> test;
  for (std::size_t i = cut; i < accesses.size(); ++i) test.push_back(accesses[i].item);

  const auto judge = [&](std::string name, const std::vector<grouping::Group>& groups) {
    if (on_progress) on_progress("judging " + name);
    const auto layout = grouping::layout_of(std::move(name), tree.files, groups);
    trial.evaluations.push_back(grouping::evaluate(layout, tree.files, test, options.cache_bytes));
  };
  const grouping::ReadContent read = [&](std::size_t i) -> std::optional<std::string> {
    std::ifstream file(options.tree + "/" + tree.files[i].path, std::ios::binary);
    if (!file) return {};
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  judge("none", {});
  judge("directory", grouping::DirectoryPolicy().group(tree.files, grouping::kGroupBytes, read));
  trial.has_reference = !options.tree.empty();
  if (trial.has_reference) {
    if (on_progress) on_progress("reading documents");
    judge("reference",
          grouping::ReferencePolicy(options.references).group(tree.files, grouping::kGroupBytes, read));
  }

  grouping::Transactions transactions;
  bool kept = true;
  grouping::Sessions sessions(session_options(options.analysis, reader.format()),
                              [&](std::span<const grouping::Item> s) { kept = transactions.add(s) && kept; });
  for (std::size_t i = 0; i < cut; ++i) {
    grouping::Access a = accesses[i];
    if (options.analysis.crawlers == Crawlers::mixed) a.crawler = false;
    if (options.analysis.one_stream) a.stream = 0;
    sessions.add(a);
  }
  sessions.finish();
  if (!kept) return fail(ENOSPC, "the temporary file for sessions; TMPDIR names its place");
  std::vector<std::uint64_t> sizes;
  for (const auto& f : tree.files) sizes.push_back(f.size);
  const auto mined = grouping::mine_groups(transactions, sizes, options.analysis.mining, on_progress);
  trial.mined_groups = mined.groups.size();
  auto plan = std::make_shared<grouping::PlanGroups>();
  for (const auto& group : mined.groups) {
    std::vector<grouping::PlanGroups::Member> members;
    for (const grouping::Item item : group.items) members.push_back({tree.files[item].path, 0});
    plan->add_group(std::move(members));
  }
  judge("frequency", grouping::FrequencyPolicy(plan).group(tree.files, grouping::kGroupBytes, read));
  for (const std::string& path : options.plans) {
    CFFS_TRY(const grouping::Plan given, read_plan(path));
    const auto groups = std::make_shared<grouping::PlanGroups>(given);
    judge(path, grouping::FrequencyPolicy(groups).group(tree.files, grouping::kGroupBytes, read));
  }
  return trial;
}

}  // namespace cffs::replay
