#include "bench/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cffs::bench {
namespace {

template <typename List, typename Match>
auto& find_or_add(List& list, const Match& match) {
  const auto it = std::find_if(list.begin(), list.end(), match);
  return it == list.end() ? list.emplace_back() : *it;
}

void finish(PhaseResult& phase, const std::string& baseline) {
  const auto rates = [](const TargetResult& t) {
    std::vector<double> values;
    for (const replay::Run* run : t.runs) values.push_back(run->rate());
    return values;
  };
  for (TargetResult& t : phase.targets) {
    t.rate = replay::mean_of(rates(t));
    if (const TargetResult* base = phase.find(baseline))
      t.rate_of_baseline = replay::ratio_of(rates(t), rates(*base));
    std::map<std::string, std::vector<double>> samples;
    for (const replay::Run* run : t.runs) {
      t.latencies.merge(run->all_latencies());
      for (const auto& [name, value] : run->metrics) samples[name].push_back(value);
      samples["seconds"].push_back(run->seconds);
    }
    for (auto& [name, values] : samples) t.metrics[name] = replay::median_of(std::move(values));
  }
}

}  // namespace

const TargetResult* PhaseResult::find(const std::string& target) const {
  for (const TargetResult& t : targets) {
    if (t.target == target) return &t;
  }
  return nullptr;
}

std::vector<Comparison> compare(const std::vector<replay::Run>& runs, const std::string& baseline) {
  std::vector<Comparison> all;
  for (const replay::Run& run : runs) {
    Comparison& c = find_or_add(
        all, [&](const Comparison& x) { return x.benchmark == run.benchmark && x.workload == run.workload; });
    if (c.phases.empty()) {
      c.benchmark = run.benchmark;
      c.workload = run.workload;
      c.environment = run.environment;
    }
    PhaseResult& phase = find_or_add(c.phases, [&](const PhaseResult& x) { return x.phase == run.phase; });
    phase.phase = run.phase;
    TargetResult& target =
        find_or_add(phase.targets, [&](const TargetResult& x) { return x.target == run.target; });
    target.target = run.target;
    target.runs.push_back(&run);
    c.rounds = std::max(c.rounds, static_cast<unsigned>(target.runs.size()));
    if (std::find(c.targets.begin(), c.targets.end(), run.target) == c.targets.end())
      c.targets.push_back(run.target);
    for (auto& [name, value] : c.environment) {
      const auto it = run.environment.find(name);
      if (it == run.environment.end() || it->second != value) value = "differs";
    }
  }
  for (Comparison& c : all) {
    c.baseline = baseline;
    if (baseline.empty()) {
      const bool native = std::find(c.targets.begin(), c.targets.end(), "ext4") != c.targets.end();
      c.baseline = native ? "ext4" : c.targets.front();
    }
    for (PhaseResult& phase : c.phases) finish(phase, c.baseline);
  }
  return all;
}

std::string title_of(const std::string& target) {
  for (const char* native : {"ext2", "ext3", "ext4", "xfs", "btrfs"}) {
    if (target == native) return "native " + target;
  }
  for (const char* policy : {"none", "directory", "reference", "frequency", "library", "predict"}) {
    if (target == policy) return "cffs " + target;
  }
  if (target == "passthrough") return "FUSE pass-through";
  return target;
}

namespace {

// Of what is the same but for a variant ("+zstd", "@xfs") each is lighter or darker; those that are common are apart for sure.
std::string shaded(const std::string& colour, const std::string& variant) {
  if (variant.empty()) return colour;
  // Towards white, where above 0; else towards black.
  constexpr std::array<std::pair<const char*, double>, 5> kCommon = {
      {{"+zstd", 0.4}, {"+lz4", -0.3}, {"@xfs", 0.2}, {"@btrfs", -0.15}, {"@region", -0.45}}};
  std::size_t sum = 0;
  for (const char c : variant) sum = sum * 31 + static_cast<unsigned char>(c);
  double towards = 0.3 - 0.6 * static_cast<double>(sum % 97) / 97;
  for (const auto& [known, by] : kCommon) {
    if (variant == known) towards = by;
  }
  std::string mixed = "#";
  for (std::size_t at = 1; at < colour.size(); at += 2) {
    const double part = static_cast<double>(std::stoul(colour.substr(at, 2), nullptr, 16));
    const double now = towards > 0 ? part + (255 - part) * towards : part * (1 + towards);
    mixed += fmt::format("{:02x}", static_cast<unsigned>(now));
  }
  return mixed;
}

}  // namespace

// Searched for so that any two of them are told apart, also by who does not see red, green or blue as others do: in Lab at least 17 apart in
// each of these four ways to see, the policies, ext4 and passthrough, which are compared the most, at least 34. Neither too light for white
// paper nor too dark for a dark page.
std::string colour_of(const std::string& target, std::size_t index) {
  constexpr std::array<std::pair<const char*, const char*>, 12> kKnown = {{{"ext4", "#32d0fd"},
                                                                           {"ext2", "#929199"},
                                                                           {"ext3", "#009dce"},
                                                                           {"xfs", "#8d97ff"},
                                                                           {"btrfs", "#95794f"},
                                                                           {"passthrough", "#8d475c"},
                                                                           {"none", "#ffab05"},
                                                                           {"directory", "#165bc5"},
                                                                           {"reference", "#a6cb93"},
                                                                           {"frequency", "#cf2400"},
                                                                           {"library", "#645489"},
                                                                           {"predict", "#d2bd62"}}};
  const std::size_t end = std::min(target.find_first_of("+@"), target.size());
  for (const auto& [name, colour] : kKnown) {
    if (target.substr(0, end) == name) return shaded(colour, target.substr(end));
  }
  // Those of no name have other ones: of two that are compared none may look like a policy.
  constexpr std::array kOthers = {"#56b4e9", "#882255", "#44aa99", "#999933", "#6699cc", "#d98880"};
  return kOthers[index % kOthers.size()];
}

}  // namespace cffs::bench
