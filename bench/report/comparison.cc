#include "bench/report/comparison.h"

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

std::string colour_of(const std::string& target, std::size_t index) {
  constexpr std::array<std::pair<const char*, const char*>, 12> kKnown = {{{"ext4", "#4e79a7"},
                                                                           {"ext2", "#a0cbe8"},
                                                                           {"ext3", "#86a8d0"},
                                                                           {"xfs", "#499894"},
                                                                           {"btrfs", "#59a14f"},
                                                                           {"passthrough", "#8c8c96"},
                                                                           {"none", "#f28e2b"},
                                                                           {"directory", "#e15759"},
                                                                           {"reference", "#b07aa1"},
                                                                           {"frequency", "#d37295"},
                                                                           {"library", "#c9a227"},
                                                                           {"predict", "#9c755f"}}};
  const std::string kind = target.substr(0, target.find_first_of("+@"));
  for (const auto& [name, colour] : kKnown) {
    if (kind == name) return colour;
  }
  return kKnown[index % kKnown.size()].second;
}

}  // namespace cffs::bench
