#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/report/comparison.h"
#include "bench/report/page.h"
#include "bench/report/plots.h"
#include "cli/commands.h"
#include "cli/drawn_results.h"
#include "core/base/printable.h"
#include "replay/results/results_file.h"

namespace cffs::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> results;
  std::string baseline, plot, html, benchmark;
  bool json = false;
};

void print_table(const bench::Comparison& c) {
  fmt::print("== {} ({}), {} round{}, ratios to {}\n", printable(c.benchmark), printable(c.workload),
             c.rounds, c.rounds == 1 ? "" : "s", printable(bench::title_of(c.baseline)));
  fmt::print("{:<32} {:<18} {:>11} {:>8} {:>15} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "phase", "target", "ops/s",
             "ratio", "90 % interval", "p50 us", "p99 us", "reads", "writes", "CPU s");
  for (const bench::PhaseResult& phase : c.phases) {
    bool first = true;
    for (const bench::TargetResult& t : phase.targets) {
      const auto us = [&](double p) {
        return t.latencies.count() == 0
                   ? std::string("-")
                   : fmt::format("{:.1f}", static_cast<double>(t.latencies.percentile_ns(p)) / 1e3);
      };
      const auto metric = [&](const char* name) {
        const auto it = t.metrics.find(name);
        return it == t.metrics.end() ? std::string("-") : fmt::format("{:.0f}", it->second);
      };
      const double cpu = (t.metrics.contains("client_cpu_s") ? t.metrics.at("client_cpu_s") : 0) +
                         (t.metrics.contains("daemon_cpu_s") ? t.metrics.at("daemon_cpu_s") : 0);
      const replay::Estimate& r = t.rate_of_baseline;
      fmt::print("{:<32} {:<18} {:>11.1f} {:>8} {:>15} {:>9} {:>9} {:>9} {:>9} {:>8.2f}\n",
                 first ? printable(phase.phase) : "", printable(bench::title_of(t.target)), t.rate.value,
                 r.value > 0 ? fmt::format("{:.2f}", r.value) : "-",
                 r.samples > 1 ? fmt::format("{:.2f} to {:.2f}", r.low, r.high) : "", us(0.5), us(0.99),
                 metric("device_reads"), metric("device_writes"), cpu);
      first = false;
    }
  }
  fmt::print("\n");
}

nlohmann::ordered_json json_of(const bench::Comparison& c) {
  nlohmann::ordered_json json{
      {"benchmark", c.benchmark}, {"workload", c.workload}, {"baseline", c.baseline}, {"rounds", c.rounds}};
  for (const bench::PhaseResult& phase : c.phases) {
    for (const bench::TargetResult& t : phase.targets) {
      nlohmann::ordered_json entry{{"phase", phase.phase},
                                   {"target", t.target},
                                   {"per_second", t.rate.value},
                                   {"per_second_low", t.rate.low},
                                   {"per_second_high", t.rate.high},
                                   {"ratio", t.rate_of_baseline.value},
                                   {"ratio_low", t.rate_of_baseline.low},
                                   {"ratio_high", t.rate_of_baseline.high}};
      if (t.latencies.count() > 0) {
        for (const auto& [name, p] :
             {std::pair{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}})
          entry[name] = t.latencies.percentile_ns(p);
        entry["max_ns"] = t.latencies.max_ns();
      }
      entry["metrics"] = t.metrics;
      json["results"].push_back(std::move(entry));
    }
  }
  json["environment"] = c.environment;
  return json;
}

Status run_compare(const CompareOptions& o) {
  std::vector<replay::Run> runs;
  CFFS_TRY_VOID(apart_from(o.html, o.results));
  for (const std::string& file : o.results) {
    CFFS_TRY(auto more, replay::read_results(file));
    for (replay::Run& run : more) {
      if (o.benchmark.empty() || run.benchmark == o.benchmark) runs.push_back(std::move(run));
    }
  }
  if (runs.empty())
    return fail(Error::usage("there are no runs in " + o.results.front() +
                             (o.benchmark.empty() ? "" : " of benchmark " + o.benchmark)));
  const bool has_baseline =
      o.baseline.empty() ||
      std::any_of(runs.begin(), runs.end(), [&](const replay::Run& run) { return run.target == o.baseline; });
  if (!has_baseline) return fail(Error::usage("no run is of the target '" + o.baseline + "' (--baseline)"));
  const std::vector<bench::Comparison> comparisons = bench::compare(runs, o.baseline);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const bench::Comparison& c : comparisons) {
    if (o.json) {
      json.push_back(json_of(c));
    } else {
      print_table(c);
    }
  }
  if (o.json) fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  std::fflush(stdout);
  return draw_results(comparisons, o.plot, o.html);
}

}  // namespace

Status draw_results(const std::vector<bench::Comparison>& comparisons, const std::string& plot,
                    const std::string& html) {
  if (plot.empty() && html.empty()) return {};
  ProgressLine progress;
  std::vector<std::vector<bench::Plot>> plots;
  std::size_t drawn = 0;
  for (const bench::Comparison& c : comparisons) {
    progress.show("drawing " + printable(c.benchmark));
    CFFS_TRY(auto more, bench::draw(c, plot));
    drawn += more.size();
    plots.push_back(std::move(more));
  }
  progress.clear();
  if (!plot.empty()) std::fprintf(stderr, "%zu figures in %s, as SVG and PNG\n", drawn, plot.c_str());
  if (html.empty()) return {};
  std::ofstream out(html);
  out << bench::html_page(comparisons, plots);
  out.close();
  if (!out) return fail(errno != 0 ? errno : EIO, "--html=" + html);
  std::fprintf(stderr, "page in %s\n", html.c_str());
  return {};
}

void add_compare(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("compare", "Results side by side: ratios with confidence intervals, plots, a page");
  auto o = std::make_shared<CompareOptions>();
  command->add_option("RESULTS", o->results, "Files that cffs replay and cffs bench wrote with --results")
      ->required();
  command->add_option("--baseline", o->baseline, "Target that ratios are to; default ext4, else the first");
  command->add_option("--benchmark", o->benchmark, "Only this one");
  command->add_option("--plot", o->plot, "Directory for the figures, as SVG and PNG");
  command->add_option("--html", o->html, "One self-contained page with tables and figures");
  command->add_flag("--json", o->json, "For programs");
  command->callback([o, &exit_code] {
    if (const Status done = run_compare(*o); !done) exit_code = complain(done.error());
  });
}

}  // namespace cffs::cli
