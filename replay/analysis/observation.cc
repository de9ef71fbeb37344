#include "replay/analysis/observation.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <unordered_set>

namespace cffs::replay {
namespace {

namespace fs = std::filesystem;

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

Result<ObservedTree> tree_of(const std::string& directory, const std::vector<LoggedFile>& logged) {
  ObservedTree tree;
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

}  // namespace

Result<Observed> observe(const std::vector<std::string>& logs, const AnalysisOptions& options,
                         const std::string& tree, const Progress& on_progress) {
  AccessReader reader(options.reader);
  Observed observed;
  for (const std::string& log : logs) {
    const auto report = [&](const LogInput& input) {
      if (on_progress) {
        on_progress({input.name, input.bytes, input.bytes_in_all, WorkStep::kBytes,
                     std::to_string(input.lines) + " lines"});
      }
    };
    CFFS_TRY_VOID(reader.read(
        log, [&](const grouping::Access& a) { observed.accesses.push_back(a); }, report));
  }
  CFFS_TRY_VOID(check_inputs(reader.inputs(), options));
  observed.format = reader.format();
  reader.settle_directories();
  CFFS_TRY(observed.tree, tree_of(tree, reader.files()));
  const std::vector<grouping::Item>& place_of = observed.tree.place_of;
  // Files whose name is a directory's have no place.
  std::erase_if(observed.accesses,
                [&](const grouping::Access& a) { return place_of[a.item] == ~grouping::Item{0}; });
  for (grouping::Access& a : observed.accesses) a.item = place_of[a.item];
  return observed;
}

Result<std::shared_ptr<grouping::PlanGroups>> mine(const Observed& observed, std::size_t count,
                                                   const AnalysisOptions& options,
                                                   const Progress& on_progress) {
  grouping::Transactions transactions;
  grouping::Sessions sessions(session_options(options, observed.format),
                              [&](std::span<const grouping::Item> s) { (void)transactions.add(s); });
  for (std::size_t i = 0; i < count; ++i) {
    grouping::Access a = observed.accesses[i];
    if (options.crawlers == Crawlers::mixed) a.crawler = false;
    if (options.one_stream) a.stream = 0;
    sessions.add(a);
  }
  sessions.finish();
  CFFS_TRY_VOID(check_transactions(transactions));
  std::vector<std::uint64_t> sizes;
  for (const auto& f : observed.tree.files) sizes.push_back(f.size);
  const auto mined = grouping::mine_groups(transactions, sizes, options.mining, tell_names(on_progress));
  if (!mined.problem.empty()) return fail(Error::usage(mined.problem));
  CFFS_TRY_VOID(check_transactions(transactions));
  auto plan = std::make_shared<grouping::PlanGroups>();
  plan->set_rest_bytes(options.rest_bytes);
  plan->set_table_bytes(options.mining.table_bytes);
  for (const auto& group : mined.groups) {
    std::vector<grouping::PlanGroups::Member> members;
    for (const grouping::Item item : group.items) members.push_back({observed.tree.files[item].path, 0});
    plan->add_group(std::move(members), group.confidence);
  }
  return plan;
}

}  // namespace cffs::replay
