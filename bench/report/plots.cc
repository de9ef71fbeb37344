#include "bench/report/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>

#include "bench/report/drawing.h"
#include "bench/report/growth_plots.h"
#include "bench/report/utilization_plots.h"
#include "bench/rig/process.h"

namespace cffs::bench {
namespace {

constexpr double kMost = 1e300;

// What is drawn of each phase and target; 0: nothing.
struct Bars {
  std::string name, title, unit;
  std::function<replay::Estimate(const TargetResult&)> of;
  bool with_intervals = false;
};

// In groups of phases, one bar a target, with confidence intervals where there are any.
Result<Plot> draw_bars(const Comparison& c, const Bars& bars, const std::string& prefix,
                       const std::string& directory) {
  Drawing d(prefix + "-" + bars.name, bars.title);
  d.width = 1100;
  d.height = 400;
  // An interval of few rounds may be many times as long as the bar is high: it is cut, and has a mark where it goes on.
  double least = kMost, most = 0, highest = 0;
  const auto each = [&](const auto& visit) {
    for (std::size_t p = 0; p < c.phases.size(); ++p) {
      for (std::size_t t = 0; t < c.targets.size(); ++t) {
        const TargetResult* result = c.phases[p].find(c.targets[t]);
        visit(p, t, result == nullptr ? replay::Estimate() : bars.of(*result));
      }
    }
  };
  each([&](std::size_t, std::size_t, const replay::Estimate& shown) {
    if (shown.value > 0) least = std::min(least, shown.value);
    most = std::max(most, shown.value);
    highest = std::max({highest, shown.value, bars.with_intervals ? shown.high : 0});
  });
  const bool wide = most > 30 * least;
  const double bottom = wide ? least / 3 : 0, top = std::min(highest, most * (wide ? 3 : 1.25)) * 1.02;
  d.script = "$data << EOD\n";
  each([&](std::size_t p, std::size_t t, const replay::Estimate& shown) {
    const double low = std::clamp(shown.low, bottom, std::max(bottom, top)), high = std::min(shown.high, top);
    d.script += fmt::format("{} {} {} {} {} {}\n", p, t, shown.value, low, high, shown.high > top ? 1 : 0);
  });
  d.script += "EOD\n";
  const double width = 0.8 / static_cast<double>(c.targets.size());
  d.script += fmt::format(
      "set boxwidth {}\nset style fill solid 0.85 noborder\nset ylabel {}\nset xrange "
      "[-0.6:{}]\n",
      width * 0.92, in_quotes(bars.unit), static_cast<double>(c.phases.size()) - 0.4);
  const std::string range = most > 0 ? fmt::format("[{}:{}]", bottom, top) : std::string("[0:*]");
  d.script += wide ? fmt::format("set logscale y\nset format y '10^{{%T}}'\nset yrange {}\n", range)
                   : fmt::format("set yrange {}\nset format y '%.0s%c'\n", range);
  d.script += "set xtics (";
  for (std::size_t p = 0; p < c.phases.size(); ++p)
    d.script += fmt::format("{}{} {}", p == 0 ? "" : ", ", tic_label(c.phases[p].phase), p);
  d.script += c.phases.size() > 4 ? ") rotate by -30 font ',11' noenhanced\n" : ") font ',12' noenhanced\n";
  if (c.phases.size() > 4) d.height = 470;
  d.script += "plot ";
  for (std::size_t t = 0; t < c.targets.size(); ++t) {
    const double shift = (static_cast<double>(t) - static_cast<double>(c.targets.size() - 1) / 2) * width;
    d.script +=
        fmt::format("{}$data using ($2=={} && $3>0 ? $1+{} : NaN):3 with boxes linecolor rgb '{}' {}",
                    t == 0 ? "" : ", ", t, shift, colour_of(c.targets[t], t), line_title(c.targets[t]));
    if (bars.with_intervals)
      d.script += fmt::format(
          ", $data using ($2=={} && $3>0 ? $1+{} : NaN):4:(0):($5-$4) with vectors nohead linewidth 1.4 "
          "linecolor rgb 'black' notitle, "
          "$data using ($2=={} && $3>0 && $6==1 ? $1+{} : NaN):5 with points pointtype 9 pointsize 0.6 "
          "linecolor rgb 'black' notitle",
          t, shift, t, shift);
  }
  return d.draw(directory);
}

// Throughput, and what the device did for it, where that was counted.
std::vector<Bars> bars_of(const Comparison& c) {
  std::vector<Bars> all{{"throughput", "Throughput", "operations/s",
                         [](const TargetResult& target) { return target.rate; }, c.rounds > 1}};
  const auto traffic = [&](const std::string& name, const std::string& title, const std::string& unit,
                           const std::string& metric, double factor) {
    const auto of = [metric, factor](const TargetResult& target) {
      const auto found = target.metrics.find(metric);
      replay::Estimate count;
      if (found != target.metrics.end()) count.value = factor * found->second;
      return count;
    };
    const bool counted = std::any_of(c.phases.begin(), c.phases.end(), [&](const PhaseResult& phase) {
      return std::any_of(phase.targets.begin(), phase.targets.end(),
                         [&](const TargetResult& target) { return of(target).value > 0; });
    });
    if (counted) all.push_back({name, title, unit, of});
  };
  traffic("reads", "Device traffic: reads", "requests", "device_reads", 1);
  traffic("writes", "Device traffic: writes", "requests", "device_writes", 1);
  traffic("read-bytes", "Device traffic: bytes read", "MB", "device_read_bytes", 1e-6);
  traffic("written-bytes", "Device traffic: bytes written", "MB", "device_written_bytes", 1e-6);
  return all;
}

// The share of operations that took no longer than x.
Result<Plot> draw_distribution(const PhaseResult& phase, const std::string& prefix,
                               const std::string& directory) {
  Drawing d(prefix + "-latency", "Latency, distribution: " + phase.phase);
  std::string plots;
  for (std::size_t t = 0; t < phase.targets.size(); ++t) {
    const TargetResult& target = phase.targets[t];
    if (target.latencies.count() == 0) continue;
    d.script += fmt::format("$t{} << EOD\n", t);
    std::uint64_t seen = 0;
    target.latencies.each([&](std::size_t, std::uint64_t upper_ns, std::uint64_t count) {
      seen += count;
      d.script += fmt::format("{} {}\n", static_cast<double>(upper_ns) / 1e3,
                              static_cast<double>(seen) / static_cast<double>(target.latencies.count()));
    });
    d.script += "EOD\n";
    plots +=
        fmt::format("{}$t{} using 1:2 with steps linewidth 2 linecolor rgb '{}' {}",
                    plots.empty() ? "" : ", ", t, colour_of(target.target, t), line_title(target.target));
  }
  d.script +=
      "set logscale x\nset xlabel 'microseconds'\nset ylabel 'share of operations'\nset yrange [0:1]\nset "
      "format x '%.0s%c'\nplot " +
      plots;
  return d.draw(directory);
}

Result<Plot> draw_percentiles(const PhaseResult& phase, const std::string& prefix,
                              const std::string& directory) {
  Drawing d(prefix + "-percentiles", "Latency, percentiles: " + phase.phase);
  constexpr double kPercentiles[] = {0.5, 0.9, 0.99, 0.999, 1};
  std::string plots;
  for (std::size_t t = 0; t < phase.targets.size(); ++t) {
    const TargetResult& target = phase.targets[t];
    if (target.latencies.count() == 0) continue;
    d.script += fmt::format("$t{} << EOD\n", t);
    for (std::size_t p = 0; p < std::size(kPercentiles); ++p) {
      const std::uint64_t ns =
          kPercentiles[p] == 1 ? target.latencies.max_ns() : target.latencies.percentile_ns(kPercentiles[p]);
      d.script += fmt::format("{} {}\n", p, std::max(0.001, static_cast<double>(ns) / 1e3));
    }
    d.script += "EOD\n";
    plots += fmt::format(
        "{}$t{} using 1:2 with linespoints pointtype 7 pointsize 0.7 linewidth 2 linecolor rgb '{}' {}",
        plots.empty() ? "" : ", ", t, colour_of(target.target, t), line_title(target.target));
  }
  d.script +=
      "set logscale y\nset ylabel 'microseconds'\nset format y '%.0s%c'\nset xrange [-0.3:4.3]\n"
      "set xtics ('p50' 0, 'p90' 1, 'p99' 2, 'p99.9' 3, 'max' 4)\nplot " +
      plots;
  return d.draw(directory);
}

Result<Plot> draw_timeline(const PhaseResult& phase, const std::string& prefix,
                           const std::string& directory) {
  Drawing d(prefix + "-timeline", "Throughput over time: " + phase.phase);
  std::string plots;
  for (std::size_t t = 0; t < phase.targets.size(); ++t) {
    const replay::Run& run = *phase.targets[t].runs.front();
    const auto series = run.timeline.find("operations");
    if (series == run.timeline.end() || series->second.size() < 2) continue;
    d.script += fmt::format("$t{} << EOD\n", t);
    const std::vector<double>& values = series->second;
    // Long runs are thinned to what a picture can show; the last slice is not a whole one.
    const std::size_t step = std::max<std::size_t>(1, values.size() / 300);
    for (std::size_t i = 0; i + step < values.size(); i += step) {
      double sum = 0;
      for (std::size_t k = i; k < i + step; ++k) sum += values[k];
      d.script += fmt::format("{} {}\n", static_cast<double>(i) * replay::Run::kSliceMs / 1e3,
                              sum / static_cast<double>(step) * 1e3 / replay::Run::kSliceMs);
    }
    d.script += "EOD\n";
    plots += fmt::format("{}$t{} using 1:2 with lines linewidth 2 linecolor rgb '{}' {}",
                         plots.empty() ? "" : ", ", t, colour_of(phase.targets[t].target, t),
                         line_title(phase.targets[t].target));
  }
  d.script +=
      "set xlabel 'seconds'\nset ylabel 'operations/s'\nset yrange [0:*]\nset format y '%.0s%c'\nplot " +
      plots;
  return d.draw(directory);
}

bool has_latencies(const PhaseResult& phase) {
  return std::any_of(phase.targets.begin(), phase.targets.end(),
                     [](const TargetResult& t) { return t.latencies.count() > 1; });
}

bool has_timeline(const PhaseResult& phase) {
  constexpr std::size_t kSlices = 10;
  return std::any_of(phase.targets.begin(), phase.targets.end(), [](const TargetResult& t) {
    const auto series = t.runs.front()->timeline.find("operations");
    return series != t.runs.front()->timeline.end() && series->second.size() >= kSlices;
  });
}

}  // namespace

Result<std::vector<Plot>> draw(const Comparison& comparison, const std::string& directory) {
  if (!is_installed("gnuplot")) {
    return fail(Error::usage("gnuplot is not installed, and draws the plots; apt-get install gnuplot-nox"));
  }
  if (!directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return fail(error.value(), "--plot=" + directory);
  }
  const std::string base =
      plain(comparison.benchmark) + "-" +
      fmt::format("{:08x}", static_cast<std::uint32_t>(std::hash<std::string>()(comparison.workload)));
  std::vector<Plot> plots;
  for (const Bars& bars : bars_of(comparison)) {
    CFFS_TRY(Plot drawn, draw_bars(comparison, bars, base, directory));
    plots.push_back(std::move(drawn));
  }
  for (const PhaseResult& phase : comparison.phases) {
    const std::string prefix = base + (phase.phase.empty() ? "" : "-" + plain(phase.phase));
    if (has_latencies(phase)) {
      CFFS_TRY(Plot distribution, draw_distribution(phase, prefix, directory));
      plots.push_back(std::move(distribution));
      CFFS_TRY(Plot percentiles, draw_percentiles(phase, prefix, directory));
      plots.push_back(std::move(percentiles));
    }
    if (has_timeline(phase)) {
      CFFS_TRY(Plot timeline, draw_timeline(phase, prefix, directory));
      plots.push_back(std::move(timeline));
    }
  }
  CFFS_TRY(auto growth, draw_growth(comparison, base, directory));
  std::move(growth.begin(), growth.end(), std::back_inserter(plots));
  CFFS_TRY(auto utilization, draw_utilization(comparison, base, directory));
  std::move(utilization.begin(), utilization.end(), std::back_inserter(plots));
  return plots;
}

}  // namespace cffs::bench
