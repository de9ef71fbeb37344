#include "bench/report/headlines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "bench/report/comparison.h"
#include "replay/results/statistics.h"

namespace cffs::bench {
namespace {

// What runs of the step, and of no other size or disk, are called: once for each limit of memory, that of the headlines first.
std::vector<std::string> workloads_of(const Step& step, Size size) {
  const Benchmark* benchmark = find_benchmark(step.benchmark);
  SessionOptions options = options_of(step, size);
  std::vector<std::uint64_t> memory = options.memory_bytes;
  if (memory.empty() && size == Size::paper) memory = benchmark->paper_memory;
  if (memory.empty()) memory.push_back(0);
  const Session session(*benchmark, std::move(options));
  std::vector<std::string> names;
  for (const std::uint64_t bytes : memory) names.push_back(session.workload(bytes));
  return names;
}
std::string workload_of(const Step& step, Size size) { return workloads_of(step, size).front(); }

std::optional<double> median_seconds(const Step& step, Size size, const std::string& phase,
                                     const std::string& target, const std::vector<replay::Run>& runs) {
  const std::string workload = workload_of(step, size);
  std::vector<double> seconds;
  for (const replay::Run& run : runs) {
    if (run.benchmark == step.benchmark && run.workload == workload && run.phase == phase &&
        run.target == target)
      seconds.push_back(run.seconds);
  }
  if (seconds.empty()) return std::nullopt;
  return replay::median_of(std::move(seconds));
}

// Tiny and published sizes have other numbers in the names of some phases: the first one that begins alike.
std::string phase_of(const Step& step, Size size, const std::string& small_name,
                     const std::vector<replay::Run>& runs) {
  if (size == Size::small) return small_name;
  const std::size_t at = small_name.find(" at ");
  if (at == std::string::npos) return small_name;
  for (const replay::Run& run : runs) {
    if (run.benchmark == step.benchmark && run.workload == workload_of(step, size) &&
        run.phase.compare(0, at, small_name, 0, at) == 0 && run.phase.find(" at 0 ") == std::string::npos)
      return run.phase;
  }
  return small_name;
}

std::optional<double> time_of(const Headline& headline, const Step& step, Size size,
                              const std::string& target, const std::vector<replay::Run>& runs) {
  double sum = 0;
  for (const std::string& phase : headline.phases) {
    const auto seconds = median_seconds(step, size, phase_of(step, size, phase, runs), target, runs);
    if (!seconds) return std::nullopt;
    sum += *seconds;
  }
  return sum;
}

std::string three_digits(double value) { return fmt::format("{:.3g}", value); }

}  // namespace

std::vector<Measured> measured(const Publication& publication, Size size,
                               const std::vector<replay::Run>& runs) {
  std::vector<Measured> rows;
  for (const Headline& headline : publication.headlines) {
    const Step& step = publication.steps[headline.step];
    Measured row{&headline, std::nullopt, 0, 0};
    const auto own = time_of(headline, step, size, headline.target, runs);
    const auto rival = time_of(headline, step, size, headline.rival, runs);
    if (own && rival && *own > 0) {
      row.ratio = *rival / *own;
      row.seconds = *own;
      row.rival_seconds = *rival;
    }
    rows.push_back(row);
  }
  return rows;
}

bool is_complete(const Step& step, Size size, unsigned rounds, const std::vector<replay::Run>& runs) {
  for (const std::string& workload : workloads_of(step, size)) {
    std::map<std::string, std::set<unsigned>> had;  // by target
    for (const replay::Run& run : runs) {
      if (run.benchmark == step.benchmark && run.workload == workload) had[run.target].insert(run.round);
    }
    for (const std::string& target : step.targets) {
      if (had[target].size() < rounds) return false;
    }
  }
  return true;
}

std::string published(const Headline& headline) {
  if (headline.from <= 0) return "below " + three_digits(headline.to);
  if (headline.to <= 0) return three_digits(headline.from) + " and more";
  return three_digits(headline.from) + " to " + three_digits(headline.to);
}

std::string verdict(const Measured& measured) {
  if (!measured.ratio) return "not measured";
  if (*measured.ratio < measured.headline->from) return "less";
  if (measured.headline->to > 0 && *measured.ratio > measured.headline->to) return "more";
  return "as published";
}

std::string headline_table(const Publication& publication, const std::vector<Measured>& rows) {
  std::string text = publication.title + "\n";
  text += fmt::format("  {:<11} {:<46} {:<24} {:>12} {:>8} {:>9} {:>9}  {}\n", "figure", "what it says",
                      "ratio of", "published", "here", "s", "rival's s", "");
  for (const Measured& row : rows) {
    const Headline& h = *row.headline;
    text += fmt::format("  {:<11} {:<46} {:<24} {:>12} {:>8} {:>9} {:>9}  {}\n", h.figure, h.says,
                        h.target + " to " + h.rival, published(h), row.ratio ? three_digits(*row.ratio) : "-",
                        row.ratio ? fmt::format("{:.2f}", row.seconds) : "-",
                        row.ratio ? fmt::format("{:.2f}", row.rival_seconds) : "-", verdict(row));
  }
  return text;
}

std::string headline_markdown(const Publication& publication, const std::vector<Measured>& rows) {
  std::string text = "## " + publication.title + "\n\n";
  text +=
      "| figure | what it says | ratio of | published | here | seconds | the rival's | "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const Measured& row : rows) {
    const Headline& h = *row.headline;
    text +=
        fmt::format("| {} | {} | {} to {} | {} | {} | {} | {} | {} |\n", h.figure, h.says, title_of(h.target),
                    title_of(h.rival), published(h), row.ratio ? three_digits(*row.ratio) : "–",
                    row.ratio ? fmt::format("{:.2f}", row.seconds) : "–",
                    row.ratio ? fmt::format("{:.2f}", row.rival_seconds) : "–", verdict(row));
  }
  text += "\n";
  for (std::size_t i = 0; i < publication.steps.size(); ++i) {
    const Step& step = publication.steps[i];
    std::string words = "cffs bench " + step.benchmark + " --disk=" + step.disk;
    if (step.memory_bytes != 0) words += fmt::format(" --memory={}M", step.memory_bytes >> 20);
    words += " --targets=" + fmt::format("{}", fmt::join(step.targets, ","));
    if (step.sync) words += " --sync";
    for (const auto& [name, value] : step.parameters) words += " --" + name + "=" + value;
    for (const auto& [name, value] : step.given) words += " --" + name + "=" + value;
    text += (i == 0 ? "Made by `" : "; `") + words + "`";
  }
  return text + ".\n";
}

}  // namespace cffs::bench
