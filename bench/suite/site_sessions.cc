#include "bench/suite/site_sessions.h"

#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>
#include <utility>

#include "replay/trace/initial_files.h"

namespace cffs::bench {
namespace {

constexpr std::int64_t kBrowserKeeps = 1800ll * 1'000'000'000;  // nanoseconds

bool is_page(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.ends_with(".html") || name.ends_with(".htm") || name.find('.') == std::string::npos;
}

// Which path is the how manieth by requests, ties by name: the same for the same log.
std::unordered_map<replay::PathId, std::size_t> ranks_of(const replay::Trace& log, bool pages_only) {
  std::unordered_map<replay::PathId, std::uint64_t> counts;
  for (const replay::Operation& o : log.operations) {
    if (o.call == replay::Call::fetch && (!pages_only || is_page(log.path(o.path)))) ++counts[o.path];
  }
  std::vector<std::pair<replay::PathId, std::uint64_t>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : log.path(a.first) < log.path(b.first);
  });
  std::unordered_map<replay::PathId, std::size_t> ranks;
  for (std::size_t r = 0; r < order.size(); ++r) ranks[order[r].first] = r;
  return ranks;
}

}  // namespace

replay::Trace site_sessions(const std::vector<SourceFile>& files, std::vector<Visit> visits,
                            const replay::Trace& log, std::uint64_t seed) {
  auto ranks = ranks_of(log, true);
  if (ranks.empty()) ranks = ranks_of(log, false);
  std::mt19937_64 random(seed);
  std::shuffle(visits.begin(), visits.end(), random);
  replay::Trace trace;
  trace.about["format"] = "site sessions";
  trace.about["root"] = "/";
  replay::InitialFiles initial(trace);
  std::vector<replay::PathId> ids;
  for (const SourceFile& file : files) ids.push_back(initial.add(file.path, file.size));
  initial.finish();
  for (const std::string& client : log.clients()) (void)trace.client(client);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> given;  // when, by client and file
  for (const replay::Operation& request : log.operations) {
    if (request.call != replay::Call::fetch) continue;
    const auto rank = ranks.find(request.path);
    if (rank == ranks.end()) continue;
    const Visit& visit = visits[rank->second % visits.size()];
    for (std::size_t i = 0; i < visit.size(); ++i) {
      const auto [at, first] = given.try_emplace({request.client, visit[i]}, request.time_ns);
      const bool has_it = !first && request.time_ns - at->second < kBrowserKeeps;
      if (i > 0 && has_it) continue;
      at->second = request.time_ns;
      replay::Operation o;
      o.call = replay::Call::fetch;
      o.client = request.client;
      o.path = ids[visit[i]];
      o.result = static_cast<std::int64_t>(files[visit[i]].size);
      o.time_ns = request.time_ns;
      trace.operations.push_back(o);
    }
  }
  return trace;
}

}  // namespace cffs::bench
