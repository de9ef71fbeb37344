#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "bench/disk/disk_profile.h"
#include "bench/report/headlines.h"
#include "cli/benchmark_run.h"
#include "cli/commands.h"
#include "cli/drawn_results.h"
#include "replay/results/results_file.h"

namespace cffs::cli {
namespace {

constexpr const char* kPublished = "hdd";

struct PaperOptions {
  std::vector<std::string> names;
  bool all = false, tiny = false, paper = false, report_only = false;
  unsigned rounds = 1;
  std::string results, work, site, markdown, html, plot;
  std::vector<std::string> disks{kPublished};  // in place of the publications' hard disk
  bench::Size size() const {
    return tiny ? bench::Size::tiny : paper ? bench::Size::paper : bench::Size::small;
  }
};

Result<std::vector<replay::Run>> runs_in(const std::string& file) {
  if (::access(file.c_str(), F_OK) != 0) return std::vector<replay::Run>();
  return replay::read_results(file);
}

// Runs what is not in the results yet. Returns the names of those that failed.
Result<std::vector<std::string>> run_steps(const bench::Publication& publication, const PaperOptions& o) {
  std::vector<std::string> failed;
  for (const bench::Step& step : publication.steps) {
    CFFS_TRY(const auto runs, runs_in(o.results));
    const std::string called = fmt::format("{}: {}, disk {}", publication.name, step.benchmark, step.disk);
    if (bench::is_complete(step, o.size(), o.rounds, runs)) {
      say(fmt::format("{}: is in {} already", called, o.results));
      continue;
    }
    say(called);
    bench::SessionOptions options = bench::options_of(step, o.size());
    options.results = o.results;
    options.work = o.work;
    options.rounds = o.rounds;
    options.resume = true;
    CFFS_TRY(const int code, run_benchmark(*bench::find_benchmark(step.benchmark), std::move(options)));
    if (code == 128 + SIGINT || code == 128 + SIGTERM)
      return fail(Error::usage(fmt::format("{} was ended by a signal; the same command goes on", called)));
    if (code != 0) failed.push_back(called);
  }
  return failed;
}

Status write_markdown(const std::string& path, const std::string& body,
                      const std::vector<replay::Run>& runs) {
  std::ofstream out(path);
  out << "# What the publications say, and what was measured here\n\n"
         "Made by `cffs bench paper --all --results=R.db --markdown=docs/RESULTS.md`. Each row is a ratio of "
         "times, the rival's by the system's "
         "own, at the same work on the same machine: above 1 the system is faster. *As published*: within "
         "what the paper says, or on the side that it leaves "
         "open; *less*: not reached. The papers' disks are stood for by a modelled hard disk "
         "(docs/MEASURING.md), their memory by a limit, their sizes by "
         "smaller ones; `--paper` takes those of the papers. A ratio in the tens is one of sizes: a table of "
         "up to 32 MB is read whole when it is mounted, and then no query waits for the disk."
         "\n\n";
  if (!runs.empty()) {
    out << "Machine:";
    for (const auto& [name, value] : runs.back().environment)
      if (value.size() < 80 && value.find('/') == std::string::npos)
        out << " " << name << " " << value << ";";
    out << "\n\n";
  }
  out << body;
  out.close();
  if (!out) return fail(errno != 0 ? errno : EIO, "--markdown=" + path);
  std::fprintf(stderr, "table in %s\n", path.c_str());
  return {};
}

Result<std::vector<bench::Publication>> chosen(const PaperOptions& o) {
  std::vector<bench::Publication> list = bench::publications(o.site);
  std::erase_if(list, [&](const bench::Publication& p) {
    return !o.all && std::find(o.names.begin(), o.names.end(), p.name) == o.names.end();
  });
  if (list.empty())
    return fail(Error::command_line("name a publication, or --all; cffs bench paper --help has their names"));
  std::vector<bench::Publication> each;
  for (const std::string& disk : o.disks) {
    for (bench::Publication publication : list) {
      for (bench::Step& step : publication.steps) {
        if (step.disk == kPublished) step.disk = disk;
      }
      if (o.disks.size() > 1 || disk != kPublished) publication.title += ": disk " + disk;
      each.push_back(std::move(publication));
    }
  }
  return each;
}

Result<int> run_paper(const PaperOptions& o) {
  CFFS_TRY(const auto publications, chosen(o));
  CFFS_TRY_VOID(apart_from(o.html, {o.results}));
  CFFS_TRY_VOID(apart_from(o.markdown, {o.results}));
  std::vector<std::string> failed;
  for (const bench::Publication& publication : publications) {
    if (o.report_only) continue;
    CFFS_TRY(const auto more, run_steps(publication, o));
    failed.insert(failed.end(), more.begin(), more.end());
  }
  CFFS_TRY(const auto runs, runs_in(o.results));
  std::string body;
  for (const bench::Publication& publication : publications) {
    const auto rows = bench::measured(publication, o.size(), runs);
    fmt::print("\n{}", bench::headline_table(publication, rows));
    body += bench::headline_markdown(publication, rows) + "\n";
  }
  std::fflush(stdout);
  if (!o.markdown.empty()) CFFS_TRY_VOID(write_markdown(o.markdown, body, runs));
  CFFS_TRY_VOID(draw_results(bench::compare(runs, ""), o.plot, o.html));
  for (const std::string& step : failed) say(step + " failed, see above");
  return failed.empty() ? 0 : 1;
}

}  // namespace

void add_paper(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand(
      "paper", "What the publications say of their systems, beside the same ratios measured here");
  auto o = std::make_shared<PaperOptions>();
  std::vector<std::string> names;
  for (const bench::Publication& p : bench::publications()) names.push_back(p.name);
  auto* which = command->add_option("PUBLICATION", o->names, "Which")->check(CLI::IsMember(names));
  command->add_flag("--all", o->all, "All of them")->excludes(which);
  command
      ->add_option("--results", o->results,
                   "Results file (SQLite) that the runs are added to; what is in it already is not run again")
      ->required();
  command->add_flag("--report-only", o->report_only, "Run nothing: what the results file has");
  command->add_option("--rounds", o->rounds, "Of each benchmark; the median counts")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command
      ->add_option("--disk", o->disks,
                   "What stands for the publications' disk; several: all of it on each, a table for each")
      ->delimiter(',')
      ->check(CLI::IsMember(bench::disk_names()))
      ->capture_default_str();
  command->add_option("--site", o->site,
                      "A directory of HTML for the web server (scripts/documentation_site.sh makes one)");
  command->add_option("--work", o->work,
                      "Directory below which images and mounts are put, and removed again");
  auto* tiny = command->add_flag("--tiny", o->tiny,
                                 "The smallest sizes that still do everything, on the machine's own disk");
  command->add_flag("--paper", o->paper, "The published sizes and memory limits: days")->excludes(tiny);
  command->add_option("--markdown", o->markdown, "Write the table there");
  command->add_option("--html", o->html, "Write a page of all figures there");
  command->add_option("--plot", o->plot, "Directory for figures, as SVG and PNG");
  command->callback([o, &exit_code] {
    const auto done = run_paper(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
