#include "grouping/reference_policy.h"

#include <algorithm>
#include <functional>
#include <future>
#include <iterator>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "grouping/reference/text.h"

namespace cffs::grouping {
namespace {

// The candidates' own paths. File numbers are those of the candidates; without any, their indices plus one.
class CandidateLookup final : public FileLookup {
 public:
  explicit CandidateLookup(const std::vector<Candidate>& candidates) : candidates_(candidates) {
    by_path_.reserve(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      by_path_.emplace(candidates[i].path, i);
      by_file_.emplace(number(i), i);
      const auto [it, fresh] = folded_.emplace(lowered(candidates[i].path), i);
      if (!fresh) it->second = kSeveral;
    }
  }
  FileId number(std::size_t i) const { return candidates_[i].file != 0 ? candidates_[i].file : i + 1; }
  std::size_t index(FileId file) const { return by_file_.at(file); }

  std::optional<FileId> find(const std::string& path) override {
    const auto it = by_path_.find(path);
    return it == by_path_.end() ? std::nullopt : std::optional<FileId>(number(it->second));
  }
  std::optional<FileId> find_ignoring_case(const std::string& path) override {
    const auto it = folded_.find(lowered(path));
    return it == folded_.end() || it->second == kSeveral ? std::nullopt
                                                         : std::optional<FileId>(number(it->second));
  }
  std::vector<FileId> list(const std::string& directory, std::string_view suffix) override {
    if (by_directory_.empty()) {
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const std::size_t slash = candidates_[i].path.rfind('/');
        by_directory_[slash == std::string::npos ? "" : candidates_[i].path.substr(0, slash)].push_back(i);
      }
    }
    std::vector<FileId> found;
    const auto it = by_directory_.find(directory);
    if (it == by_directory_.end()) return found;
    for (const std::size_t i : it->second) {
      if (candidates_[i].path.ends_with(suffix)) found.push_back(number(i));
    }
    return found;
  }

 private:
  static constexpr std::size_t kSeveral = ~std::size_t{0};
  const std::vector<Candidate>& candidates_;
  std::unordered_map<std::string, std::size_t> by_path_, folded_;
  std::unordered_map<FileId, std::size_t> by_file_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_directory_;
};

// At once in another thread where there is one to be had, else when the result is asked for.
std::future<Extracted> in_background(const std::function<Extracted()>& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

}  // namespace

std::vector<Group> ReferencePolicy::group(const std::vector<Candidate>& candidates, std::uint64_t max_bytes,
                                          const ReadContent& read) const {
  CandidateLookup lookup(candidates);
  MemoryReferenceGraph graph;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (document_kind(candidates[i].path) == DocumentKind::html) graph.set_html(lookup.number(i));
  }
  // Extraction is most of the work and pure, so it has all cores; reading and looking up stay with the caller's thread.
  const std::size_t at_once = 4 * std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::pair<std::size_t, std::future<Extracted>>> under_way;
  const auto settle = [&] {
    for (auto& [i, extracted] : under_way) {
      const DocumentLinks links =
          links_of(lookup.number(i), candidates[i].path, extracted.get(), options_, lookup);
      for (const Edge& edge : links.edges) graph.add(edge);
      if (on_document_) on_document_(i, links);
    }
    under_way.clear();
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const DocumentKind kind = document_kind(candidates[i].path);
    if (kind == DocumentKind::none || !read) continue;
    auto content = read(i);
    if (!content) continue;
    under_way.emplace_back(i,
                           in_background([kind, text = std::move(*content)] { return extract(kind, text); }));
    if (under_way.size() >= at_once) settle();
  }
  settle();
  std::vector<bool> taken(candidates.size());
  std::vector<Group> groups;
  const std::uint64_t most = std::min(max_bytes, kGroupBytes);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (taken[i]) continue;
    const auto placement = placement_of(lookup.number(i), graph, options_);
    if (!placement) continue;
    // Both groups of a head lie side by side: what is read with it often comes next.
    for (const bool shared : {false, true}) {
      Group members;
      for (const FileId file : members_of({placement->head, shared}, graph, options_)) {
        const std::size_t m = lookup.index(file);
        if (taken[m]) continue;
        taken[m] = true;
        members.push_back(m);
      }
      if (members.size() == 1) {  // alone: its directory is better company than none
        taken[members.front()] = false;
      } else {
        add_in_pieces(groups, members, candidates, most);
      }
    }
  }
  std::vector<Group> rest = group_by_directory(candidates, taken, max_bytes);
  groups.insert(groups.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  std::erase_if(groups, [](const Group& group) { return group.empty(); });
  return groups;
}

}  // namespace cffs::grouping
