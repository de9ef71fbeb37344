#include "cli/replay_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "replay/import/trace_builder.h"
#include "replay/logs/log_format.h"
#include "replay/results/statistics.h"
#include "replay/trace/trace_summary.h"

namespace cffs::cli {
namespace {

// Trees that somebody else made hold other bytes, or lack files, and that is no fault of the target's.
std::string hint_of(const replay::PlayReport& r, const ReplayFlags& o) {
  if (r.missing > 0 && !o.replay.fresh)
    return " (the trace starts from a tree: where it is not there, make it with --make-tree, or give "
           "--fresh)";
  const bool contents_only = r.wrong_content > 0 && r.wrong_content == r.problems();
  return contents_only ? " (contents are those that --make-tree and --fresh write; for any other tree give "
                         "--check=size)"
                       : "";
}

void print_problems(const replay::PlayReport& r, const ReplayFlags& o) {
  if (r.problems() == 0) return;
  fmt::print(
      "{} operations came out otherwise than they must: {} failed, {} were not refused, {} with another "
      "error, {} "
      "of another size, {} with other bytes; the first: {}{}\n",
      r.problems(), r.failed, r.not_refused, r.other_error, r.wrong_size, r.wrong_content, r.first_problem,
      hint_of(r, o));
}

void print_rounds(const replay::ReplayResult& result, const ReplayFlags& o) {
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    const replay::Run& run = result.runs[i];
    fmt::print("round {}: replayed {} operations, {} read, {} written, in {:.2f} s: {:.0f}/s\n", run.round,
               run.operations, human_bytes(result.reports[i].read_bytes),
               human_bytes(result.reports[i].written_bytes), run.seconds, run.rate());
    print_problems(result.reports[i], o);
  }
  std::vector<double> rates;
  for (const replay::Run& run : result.runs) rates.push_back(run.rate());
  if (rates.size() > 1) {
    const replay::Estimate rate = replay::mean_of(rates);
    fmt::print("mean of {} rounds: {:.0f}/s, 90 % confidence {:.0f} to {:.0f}\n", rates.size(), rate.value,
               rate.low, rate.high);
  }
}

void print_latencies(const std::vector<replay::Run>& runs) {
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
  std::map<std::string, replay::LatencyHistogram> calls;
  for (const replay::Run& run : runs) {
    for (const auto& [call, histogram] : run.latencies) calls[call].merge(histogram);
  }
  fmt::print("\n{:<12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "latency, us", "calls", "p50", "p90",
             "p99", "p99.9", "max");
  const auto line = [&](const std::string& name, const replay::LatencyHistogram& h) {
    fmt::print("{:<12} {:>10} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", name, h.count(),
               us(h.percentile_ns(0.5)), us(h.percentile_ns(0.9)), us(h.percentile_ns(0.99)),
               us(h.percentile_ns(0.999)), us(h.max_ns()));
  };
  replay::LatencyHistogram all;
  for (const auto& [call, histogram] : calls) {
    line(call, histogram);
    all.merge(histogram);
  }
  if (calls.size() > 1) line("all", all);
}

// What the last round cost the device, and the replayer itself.
void print_cost(const replay::ReplayResult& result, const ReplayFlags& o) {
  const replay::Run& last = result.runs.back();
  if (last.metrics.contains("device_reads")) {
    const auto metric = [&](const char* name) { return static_cast<std::uint64_t>(last.metrics.at(name)); };
    fmt::print("device, last round: {} reads, {}; {} writes, {}\n", metric("device_reads"),
               human_bytes(metric("device_read_bytes")), metric("device_writes"),
               human_bytes(metric("device_written_bytes")));
  }
  const double seconds = last.seconds * static_cast<double>(o.replay.schedule.threads);
  fmt::print("the replayer itself: {:.0f} ns an operation ({:.1f} % of the time), checking {:.1f} %\n",
             result.overhead_ns,
             result.overhead_ns * static_cast<double>(last.operations) / 1e7 / last.seconds,
             result.reports.back().checking_seconds * 100 / seconds);
}

nlohmann::ordered_json json_of(const replay::ReplayResult& result, const ReplayFlags& o,
                               const replay::Trace& trace, const replay::LoadReport& report) {
  const replay::Run& run = result.runs.back();
  const replay::PlayReport& r = result.reports.back();
  const replay::LatencyHistogram l = run.all_latencies();
  nlohmann::ordered_json json{{"requests", run.operations},
                              {"bytes", r.read_bytes},
                              {"written_bytes", r.written_bytes},
                              {"seconds", run.seconds},
                              {"requests_per_s", run.rate()},
                              {"p50_ns", l.percentile_ns(0.5)},
                              {"p90_ns", l.percentile_ns(0.9)},
                              {"p99_ns", l.percentile_ns(0.99)},
                              {"p999_ns", l.percentile_ns(0.999)},
                              {"max_ns", l.max_ns()},
                              {"mean_ns", l.count() == 0 ? 0 : l.sum_ns() / l.count()},
                              {"failed", r.failed},
                              {"not_refused", r.not_refused},
                              {"other_error", r.other_error},
                              {"wrong_size", r.wrong_size},
                              {"wrong_content", r.wrong_content},
                              {"left_out", result.schedule.left_out},
                              {"unexplained", result.schedule.unexplained},
                              {"replayer_ns_per_operation", result.overhead_ns},
                              {"threads", o.replay.schedule.threads},
                              {"rounds", result.runs.size()},
                              {"files", replay::summary_of(trace).initial_files},
                              {"virtual_hosts", report.hosts},
                              {"malformed_lines", report.malformed}};
  for (const auto& [name, value] : run.metrics) json["metrics"][name] = value;
  for (const auto& [call, h] : run.latencies) {
    json["calls"][call] = {{"count", h.count()},
                           {"p50_ns", h.percentile_ns(0.5)},
                           {"p90_ns", h.percentile_ns(0.9)},
                           {"p99_ns", h.percentile_ns(0.99)},
                           {"max_ns", h.max_ns()}};
  }
  return json;
}

}  // namespace

void print_unlisted(const replay::LoadReport& report) {
  if (report.from_outside > 0) {
    fmt::print(
        "  note: {} names were linked or moved in from outside of the tree, or out of it: there they are in "
        "{}\n",
        report.from_outside, replay::kOutside);
  }
  if (report.too_large > 0) {
    fmt::print("  note: {} operations and files with more bytes than a trace can hold are left out\n",
               report.too_large);
  }
  if (report.unlisted_parents == 0) return;
  fmt::print(
      "  note: {} directories that --initial does not list are made for what is in them; the first: {}\n",
      report.unlisted_parents, report.first_unlisted);
}

void print_input(const replay::Trace& trace, const replay::LoadReport& report) {
  const replay::TraceSummary s = replay::summary_of(trace);
  if (is_access_log(replay::log_format(report.format).value_or(replay::LogFormat::automatic))) {
    fmt::print("log: {} lines, {} malformed, {} other than successful GETs; {} clients, {} requests\n",
               report.lines, report.malformed, report.passed_over, s.clients, s.operations);
  } else {
    fmt::print("trace: {} operations of {} clients in {:.1f} s\n", s.operations, s.clients, s.seconds);
  }
  for (const std::string& sample : report.samples) fmt::print("  malformed: {}\n", sample);
  print_unlisted(report);
  fmt::print("tree: {} files, {}", s.initial_files, human_bytes(s.initial_bytes));
  if (report.hosts > 1) {
    fmt::print(" ({} virtual hosts with the {} files of the site, each client on one)", report.hosts,
               report.site_files);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void print_result(const replay::ReplayResult& result, const ReplayFlags& o) {
  print_rounds(result, o);
  print_latencies(result.runs);
  fmt::print("\n");
  print_cost(result, o);
  if (o.replay.play.think > 0)
    fmt::print("the most that an operation started late: {:.3f} s\n", result.reports.back().late_seconds);
  if (result.schedule.left_out > 0)
    fmt::print(
        "{} operations were left out: they failed when recorded for reasons that are not in the trace\n",
        result.schedule.left_out);
  if (result.schedule.unexplained > 0)
    fmt::print(
        "{} operations succeeded when recorded on files that nothing in the trace made; here they must "
        "fail\n",
        result.schedule.unexplained);
}

void print_json(const replay::ReplayResult& result, const ReplayFlags& o, const replay::Trace& trace,
                const replay::LoadReport& report) {
  fmt::print("{}\n",
             json_of(result, o, trace, report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  const auto& problem = result.reports.back().first_problem;
  if (!problem.empty())
    std::fprintf(stderr, "cffs: %s%s\n", problem.c_str(), hint_of(result.reports.back(), o).c_str());
}

}  // namespace cffs::cli
