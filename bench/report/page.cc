#include "bench/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/suite/benchmark.h"

namespace cffs::bench {
namespace {

constexpr const char* kStyle = R"css(
:root { --ground: #ffffff; --text: #1d2230; --soft: #5b6478; --line: #dfe3ea; --band: #f5f7fa; --good: #1a7f4b; --bad: #b3372f; --mark: #2f5fa8; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171d; --text: #e3e7ee; --soft: #9aa4b5; --line: #2c323d; --band: #1b1f27; --good: #5cc48c; --bad: #ef8279; --mark: #86b3f0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 88rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 3.2rem 0 .2rem; padding-top: 1.2rem; border-top: 1px solid var(--line); }
p { max-width: 46rem; }
.soft { color: var(--soft); }
nav ul { list-style: none; padding: 0; columns: 2 20rem; }
nav a, a { color: var(--mark); text-decoration: none; } a:hover { text-decoration: underline; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .84rem; margin: 1rem 0; }
th, td { padding: .32rem .45rem; text-align: right; } td { white-space: nowrap; } th { vertical-align: bottom; }
th { font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--band); }
tr.phase td { text-align: left; font-weight: 600; padding-top: .9rem; background: var(--ground); }
.dot { display: inline-block; width: .65rem; height: .65rem; border-radius: 50%; margin-right: .5rem; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
.interval { color: var(--soft); font-size: .8rem; display: block; line-height: 1.2; }
/* Where there is no room for the columns each row becomes a card: none is scrolled away. */
@media (max-width: 72rem) {
  thead { display: none; }
  tbody tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.2rem, 1fr)); padding: .4rem .2rem; border-bottom: 1px solid var(--line); }
  td { text-align: left; padding: .15rem .3rem; }
  td:first-child, tr.phase td { grid-column: 1 / -1; font-weight: 600; }
  td[data-label]::before { content: attr(data-label); display: block; color: var(--soft); font-size: .75rem; font-weight: 400; }
}
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 31rem), 1fr)); gap: 1.6rem 1.2rem; margin-top: 1.2rem; }
figure { margin: 0; } figure.first { grid-column: 1 / -1; }
figcaption { font-size: .85rem; color: var(--soft); margin-bottom: .2rem; }
svg.plot { width: 100%; height: auto; color: var(--text); }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; font-size: .88rem; } dt { color: var(--soft); } dd { margin: 0; }
@media print { nav { display: none; } h2 { break-before: page; } }
)css";

// Of the table; a row's cells come in this order.
constexpr std::array kColumns = {"target",     "operations/s", "ratio",     "seconds", "p50 µs",
                                 "p99 µs",     "p99.9 µs",     "reads",     "writes",  "MB read",
                                 "MB written", "CPU s",        "daemon MB", "MB used", "inodes"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string number(double value) {
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f} k", value / 1e3);
  if (value >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string ratio_cell(const TargetResult& t, const std::string& baseline) {
  const replay::Estimate& r = t.rate_of_baseline;
  if (t.target == baseline) return "<td class=\"soft\">1</td>";
  if (r.value == 0) return "<td class=\"soft\">\u2013</td>";
  // Only what the interval tells apart from 1 is called better or worse.
  const char* kind = r.samples > 1    ? (r.low > 1    ? "good"
                                         : r.high < 1 ? "bad"
                                                      : "soft")
                     : r.value > 1.05 ? "good"
                     : r.value < 0.95 ? "bad"
                                      : "soft";
  std::string cell = fmt::format("<td><span class=\"{}\">{:.2f}</span>", kind, r.value);
  if (r.samples > 1) cell += fmt::format(" <span class=\"interval\">{:.2f} to {:.2f}</span>", r.low, r.high);
  return cell + "</td>";
}

std::string row_of(const TargetResult& t, std::size_t index, const std::string& baseline) {
  const auto metric = [&](const char* name, double factor) {
    const auto it = t.metrics.find(name);
    return it == t.metrics.end() ? std::string("<td class=\"soft\">–</td>")
                                 : "<td>" + number(it->second * factor) + "</td>";
  };
  const auto microseconds = [&](double percentile) {
    if (t.latencies.count() == 0) return std::string("<td class=\"soft\">–</td>");
    return fmt::format("<td>{:.1f}</td>", static_cast<double>(t.latencies.percentile_ns(percentile)) / 1e3);
  };
  std::vector<std::string> cells{fmt::format("<td><span class=\"dot\" style=\"background:{}\"></span>{}</td>",
                                             colour_of(t.target, index), escaped(title_of(t.target))),
                                 "<td>" + number(t.rate.value) + "</td>", ratio_cell(t, baseline),
                                 metric("seconds", 1)};
  for (const double percentile : {0.5, 0.99, 0.999}) cells.push_back(microseconds(percentile));
  for (const char* const requests : {"device_reads", "device_writes"}) cells.push_back(metric(requests, 1));
  for (const char* const bytes : {"device_read_bytes", "device_written_bytes"})
    cells.push_back(metric(bytes, 1e-6));
  const double cpu = (t.metrics.contains("client_cpu_s") ? t.metrics.at("client_cpu_s") : 0) +
                     (t.metrics.contains("daemon_cpu_s") ? t.metrics.at("daemon_cpu_s") : 0);
  cells.push_back(fmt::format("<td>{:.2f}</td>", cpu));
  for (const char* const bytes : {"daemon_peak_bytes", "space_bytes"}) cells.push_back(metric(bytes, 1e-6));
  cells.push_back(metric("inodes", 1));
  std::string row = "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) cells[i].insert(3, fmt::format(" data-label=\"{}\"", kColumns[i]));
    row += cells[i];
  }
  return row + "</tr>\n";
}

std::string section(const Comparison& c, const std::vector<Plot>& plots, std::size_t index) {
  std::string out = fmt::format("<section id=\"s{}\"><h2>{}</h2>\n", index, escaped(c.benchmark));
  if (const Benchmark* known = find_benchmark(c.benchmark))
    out += fmt::format("<p>{}. <span class=\"soft\">Repeats: {}.</span></p>\n", escaped(known->title),
                       escaped(known->source));
  out += fmt::format("<p class=\"soft\">{}; {} round{}; ratios to {}{}</p>\n", escaped(c.workload), c.rounds,
                     c.rounds == 1 ? "" : "s", escaped(title_of(c.baseline)),
                     c.rounds > 1 ? ", with 90 % confidence intervals" : "");
  out += "<div class=\"wide\"><table><thead><tr>";
  for (const char* const column : kColumns) out += fmt::format("<th>{}</th>", column);
  out += "</tr></thead><tbody>\n";
  for (const PhaseResult& phase : c.phases) {
    if (!phase.phase.empty())
      out += fmt::format("<tr class=\"phase\"><td colspan=\"{}\">{}</td></tr>\n", kColumns.size(),
                         escaped(phase.phase));
    for (const TargetResult& t : phase.targets) {
      const auto place = std::find(c.targets.begin(), c.targets.end(), t.target) - c.targets.begin();
      out += row_of(t, static_cast<std::size_t>(place), c.baseline);
    }
  }
  out += "</tbody></table></div>\n<div class=\"figures\">\n";
  for (std::size_t i = 0; i < plots.size(); ++i) {
    std::string svg = plots[i].svg;
    // The page's own text colour, not the one for a picture that stands alone.
    if (const std::size_t at = svg.find(" color=\"#222\""); at != std::string::npos) svg.erase(at, 13);
    out += fmt::format("<figure{}><figcaption>{}</figcaption>{}</figure>\n", i == 0 ? " class=\"first\"" : "",
                       escaped(plots[i].title), svg);
  }
  out += "</div>\n<details><summary>Where this was measured</summary><dl>\n";
  for (const auto& [name, value] : c.environment)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(value));
  return out + "</dl></details></section>\n";
}

}  // namespace

std::string html_page(const std::vector<Comparison>& comparisons,
                      const std::vector<std::vector<Plot>>& plots) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n";
  page += "<title>cffs: results</title><style>" + std::string(kStyle) + "</style></head><body><main>\n";
  page +=
      "<h1>Results, side by side</h1>\n<p class=\"soft\">A ratio is operations per second over the "
      "baseline's in the same results: above 1 is faster. "
      "Medians of rounds for counted things; latencies of all rounds together.</p>\n<nav><ul>\n";
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    page += fmt::format("<li><a href=\"#s{}\">{}</a> <span class=\"soft\">{}</span></li>\n", i,
                        escaped(comparisons[i].benchmark), escaped(comparisons[i].workload));
  page += "</ul></nav>\n";
  for (std::size_t i = 0; i < comparisons.size(); ++i) page += section(comparisons[i], plots[i], i);
  return page + "</main></body></html>\n";
}

}  // namespace cffs::bench
