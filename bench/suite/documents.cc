#include "bench/suite/documents.h"

#include <algorithm>
#include <optional>

#include "core/base/readable_text.h"
#include "grouping/reference_policy.h"

namespace cffs::bench {
namespace {

bool is_page(const std::string& path) { return path.ends_with(".html") || path.ends_with(".htm"); }

}  // namespace

std::vector<Visit> visits_of(const std::string& directory, const std::vector<SourceFile>& files, bool alone) {
  std::vector<grouping::Candidate> candidates;
  for (std::size_t i = 0; i < files.size(); ++i)
    candidates.push_back({0, files[i].size, files[i].path, i + 1});
  std::vector<Visit> visits;
  std::vector<bool> embeds(files.size());
  const grouping::ReferencePolicy policy({}, [&](std::size_t document, const grouping::DocumentLinks& links) {
    Visit visit{static_cast<std::uint32_t>(document)};
    for (const grouping::Edge& edge : links.edges)
      visit.push_back(static_cast<std::uint32_t>(edge.target - 1));
    if (visit.size() == 1) return;
    embeds[document] = true;
    visits.push_back(std::move(visit));
  });
  (void)policy.group(candidates, grouping::kGroupBytes, [&](std::size_t i) -> std::optional<std::string> {
    return readable_text(directory + "/" + files[i].path);
  });
  for (std::uint32_t i = 0; alone && i < files.size(); ++i) {
    if (!embeds[i] && is_page(files[i].path)) visits.push_back({i});
  }
  return visits;
}

}  // namespace cffs::bench
