#include "grouping/reference/graph.h"

#include <algorithm>
#include <set>

#include "grouping/reference/text.h"

namespace cffs::grouping {

std::string stem_of(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  const std::size_t dot = path.find('.', 1);
  return lowered(path.substr(0, dot));
}

namespace {

std::string stem_of_target(const std::string& document, const Extracted& extracted,
                           const Reference& reference) {
  switch (reference.form) {
    case TargetForm::go:
      return {};  // names a directory
    case TargetForm::python: {
      const std::string_view target = reference.target;
      return stem_of(target.substr(target.rfind('.') + 1));
    }
    case TargetForm::url:
    case TargetForm::module: {
      const auto found = resolve_url(document, extracted.base, reference.target);
      return found ? stem_of(found->path) : std::string();
    }
    default:
      return stem_of(reference.target);
  }
}

}  // namespace

namespace {

// Until a document has had its share: references that lead nowhere cost as much as those that lead to a file.
class CountedLookup final : public FileLookup {
 public:
  CountedLookup(FileLookup& lookup, std::uint64_t& count) : lookup_(lookup), count_(count) {}

  bool is_left() const { return count_ < kMostLookups; }
  std::optional<FileId> find(const std::string& path) override {
    return spend(1, path) ? lookup_.find(path) : std::nullopt;
  }
  std::optional<FileId> find_ignoring_case(const std::string& path) override {
    return spend(kSearch, path) ? lookup_.find_ignoring_case(path) : std::nullopt;
  }
  std::vector<FileId> list(const std::string& directory, std::string_view suffix) override {
    return spend(kSearch, directory) ? lookup_.list(directory, suffix) : std::vector<FileId>();
  }

 private:
  static constexpr std::uint64_t kSearch = 16;    // of a whole directory
  static constexpr std::size_t kShortPath = 256;  // a longer one counts as several
  bool spend(std::uint64_t n, const std::string& path) {
    if (!is_left()) return false;
    count_ = std::min(count_ + n + path.size() / kShortPath, kMostLookups);
    return true;
  }
  FileLookup& lookup_;
  std::uint64_t& count_;
};

}  // namespace

DocumentLinks links_of(FileId document, const std::string& path, const Extracted& extracted,
                       const ReferenceOptions& options, FileLookup& all) {
  constexpr std::size_t kMostEdges = 4096;  // of one document; more is a list of files, not a page
  constexpr std::size_t kLongestPath = 4096;
  DocumentLinks links;
  if (path.size() > kLongestPath) return links;
  CountedLookup lookup(all, links.lookups);
  std::set<Edge> seen;
  std::set<std::string> stems;
  std::map<std::string, std::vector<FileId>> holders;
  for (const Reference& reference : extracted.references) {
    if (links.edges.size() >= kMostEdges || !lookup.is_left()) break;
    if (std::string stem = stem_of_target(path, extracted, reference);
        !stem.empty() && stems.size() < kMostEdges) {
      if (stems.insert(stem).second) links.stems.push_back(std::move(stem));
    }
    std::vector<FileId> from{document};
    if (!reference.holder.empty()) {
      const auto [it, fresh] = holders.try_emplace(reference.holder);
      if (fresh) it->second = resolve_holder(path, reference, lookup);
      from = it->second;
    }
    if (from.empty()) continue;
    for (const FileId target : resolve(path, extracted, reference, options.resolve, lookup)) {
      const Edge edge{from.front(), target};
      if (edge.holder != edge.target && seen.insert(edge).second) links.edges.push_back(edge);
    }
  }
  return links;
}

namespace {

bool is_shared(const ReferenceGraph::Owner& owner, const ReferenceOptions& options) {
  return options.shared > 0 && owner.holders >= options.shared;
}

// The document at the end of the chain of owners, and how far away it is.
struct Root {
  FileId head = 0;
  unsigned distance = 0;
};
Root root_of(FileId file, ReferenceGraph& graph) {
  constexpr std::size_t kLongestChain = 512;  // further away than any depth
  std::vector<FileId> chain{file};
  for (;;) {
    const FileId at = chain.back();
    if (graph.is_html(at) || chain.size() > kLongestChain) break;
    const auto owner = graph.owner(at);
    if (!owner) break;
    const auto again = std::find(chain.begin(), chain.end(), owner->holder);
    if (again != chain.end()) {
      // The lowest number of the cycle heads it; whoever leads into it is as far away as its way there.
      const FileId head = *std::min_element(again, chain.end());
      const auto place = std::find(chain.begin(), chain.end(), head);
      return {head, static_cast<unsigned>(place - chain.begin())};
    }
    chain.push_back(owner->holder);
  }
  return {chain.back(), static_cast<unsigned>(chain.size() - 1)};
}

}  // namespace

std::optional<Placement> placement_of(FileId file, ReferenceGraph& graph, const ReferenceOptions& options) {
  const Root root = root_of(file, graph);
  if (root.distance > options.depth) return {};
  if (root.distance == 0) {
    if (graph.targets(file).empty()) return {};  // embeds nothing, nobody embeds it
    return Placement{file, false};
  }
  const auto owner = graph.owner(file);
  return Placement{root.head, owner && is_shared(*owner, options)};
}

std::vector<FileId> members_of(const Placement& group, ReferenceGraph& graph,
                               const ReferenceOptions& options) {
  std::vector<FileId> members;
  std::set<FileId> seen{group.head};
  if (!group.shared) members.push_back(group.head);
  std::vector<FileId> level{group.head};
  for (unsigned depth = 1; depth <= options.depth; ++depth) {
    std::vector<FileId> next;
    for (const FileId holder : level) {
      for (const FileId target : graph.targets(holder)) {
        if (graph.is_html(target) || seen.contains(target)) continue;
        const auto owner = graph.owner(target);
        if (!owner || owner->holder != holder) continue;
        seen.insert(target);
        next.push_back(target);
        if (is_shared(*owner, options) == group.shared) members.push_back(target);
      }
    }
    level = std::move(next);
  }
  return members;
}

void MemoryReferenceGraph::add(const Edge& edge) {
  auto& targets = targets_[edge.holder];
  if (std::find(targets.begin(), targets.end(), edge.target) != targets.end()) return;
  targets.push_back(edge.target);
  Owner& owner = owners_[edge.target];
  const bool html = is_html(edge.holder);
  const bool first =
      owner.holders == 0 || (html != is_html(owner.holder) ? html : edge.holder < owner.holder);
  if (first) owner.holder = edge.holder;
  ++owner.holders;
}

std::optional<ReferenceGraph::Owner> MemoryReferenceGraph::owner(FileId target) {
  const auto it = owners_.find(target);
  return it == owners_.end() ? std::nullopt : std::optional<Owner>(it->second);
}

std::vector<FileId> MemoryReferenceGraph::targets(FileId holder) {
  const auto it = targets_.find(holder);
  return it == targets_.end() ? std::vector<FileId>() : it->second;
}

}  // namespace cffs::grouping
