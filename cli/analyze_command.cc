// analyze: from access logs to a plan of groups.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/spark_flags.h"
#include "cli/stop_signals.h"
#include "core/base/printable.h"
#include "core/plan/plan_database.h"
#include "fusefs/mount_options.h"
#include "grouping/plan_drawing.h"
#include "replay/analysis/evaluation.h"
#include "replay/analysis/tuning.h"

namespace cffs::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> logs;
  AnalysisFlags flags;
  std::string output, graph, transactions;
  std::size_t top = 10;
  bool json = false, tune = false;
  std::string cache = "64M";
  bool chosen = false;  // what --tune chooses was given
  std::string engine = "native";
  SparkFlags spark;
};

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_text(const AnalyzeOptions& o, const replay::Analysis& a) {
  std::uint64_t grouped = 0, grouped_bytes = 0, bytes = 0;
  for (const auto& g : a.plan.groups) grouped += g.items.size(), grouped_bytes += g.bytes;
  for (const auto& f : a.plan.files) bytes += f.bytes;
  for (const auto& i : a.plan.inputs) {
    fmt::print("{}: {}, {} lines, {} accesses, {} error responses, {} other lines, {} malformed\n", i.name,
               i.format, i.lines, i.accesses, i.errors, i.others, i.malformed);
  }
  for (const std::string& sample : a.samples) fmt::print("  malformed: {}\n", sample);
  fmt::print("files: {}, {}\n", a.plan.files.size(), human_bytes(bytes));
  fmt::print("sessions: {}; set apart: {} of crawlers, {} too large; {} repeated accesses collapsed\n",
             a.sessions.sessions, a.sessions.apart_crawlers, a.sessions.apart_too_large, a.sessions.repeats);
  if (a.min_support > 0) {
    fmt::print("support: {} sessions ({:.3f} %){}\n", a.min_support,
               share(a.min_support, a.sessions.sessions),
               a.support_raised ? "; raised until the itemsets were few enough (--max-itemsets)" : "");
  }
  fmt::print("itemsets: {}\n", a.plan.itemsets.size());
  fmt::print("groups: {}, with {} files ({:.1f} % of all), {}\n", a.plan.groups.size(), grouped,
             share(grouped, a.plan.files.size()), human_bytes(grouped_bytes));
  const auto& s = a.savings;
  fmt::print(
      "expected: {:.1f} % of first accesses in a session are to grouped files; {:.1f} % need no read of "
      "their "
      "own; {:.1f} % of the bytes read with groups are used\n",
      share(s.covered, s.accesses), share(s.reads_saved, s.accesses), share(s.bytes_used, s.bytes_read));
  for (std::size_t g = 0; g < std::min(o.top, a.plan.groups.size()); ++g) {
    const auto& group = a.plan.groups[g];
    fmt::print("{:>4}. {} files, {}, {} sessions, confidence {:.0f} %\n", g + 1, group.items.size(),
               human_bytes(group.bytes), group.support, group.confidence * 100);
    for (std::size_t m = 0; m < std::min<std::size_t>(group.items.size(), 8); ++m) {
      fmt::print("        {}\n", printable(a.plan.files[group.items[m]].path));
    }
    if (group.items.size() > 8) fmt::print("        ... and {} more\n", group.items.size() - 8);
  }
}

void print_json(const AnalyzeOptions& o, const replay::Analysis& a, nlohmann::ordered_json tuning) {
  nlohmann::ordered_json j;
  if (!tuning.is_null()) j["tuning"] = std::move(tuning);
  for (const auto& [name, value] : a.plan.parameters) j["parameters"][name] = value;
  for (const auto& [name, value] : a.plan.summary) j["summary"][name] = value;
  for (const auto& i : a.plan.inputs) {
    j["inputs"].push_back({{"name", i.name},
                           {"format", i.format},
                           {"lines", i.lines},
                           {"accesses", i.accesses},
                           {"errors", i.errors},
                           {"others", i.others},
                           {"malformed", i.malformed}});
  }
  j["groups"] = nlohmann::ordered_json::array();
  for (std::size_t g = 0; g < std::min(o.top, a.plan.groups.size()); ++g) {
    const auto& group = a.plan.groups[g];
    nlohmann::ordered_json members = nlohmann::ordered_json::array();
    for (const grouping::Item item : group.items) members.push_back(a.plan.files[item].path);
    j["groups"].push_back({{"support", group.support},
                           {"confidence", group.confidence},
                           {"bytes", group.bytes},
                           {"members", std::move(members)}});
  }
  fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return fail(errno, path);
  return {};
}

// The transactions as frequent-itemset programs read them: a line each, item numbers ascending.
Status write_transactions(const std::string& path, const grouping::Transactions& transactions) {
  std::ofstream file(path, std::ios::binary);
  const bool read = transactions.for_each([&](std::uint64_t, std::span<const grouping::Item> items) {
    std::vector<grouping::Item> sorted(items.begin(), items.end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) file << (i > 0 ? " " : "") << sorted[i];
    file << '\n';
  });
  if (!read) return replay::check_transactions(transactions);
  file.close();
  if (!file) return fail(errno, path);
  return {};
}

// Chooses algorithm and rest for the options.
Result<replay::Tuning> tune(const AnalyzeOptions& o, const replay::DiskProfile& disk,
                            replay::AnalysisOptions& options) {
  if (o.chosen)
    return fail(
        Error::command_line("--tune chooses --algorithm, --rest-bytes and --table-bytes: leave them out"));
  for (const std::string& log : o.logs) {
    if (log == "-") return fail(Error::command_line("--tune reads a log twice: it cannot come from stdin"));
  }
  replay::TuningOptions tuning;
  tuning.model.disk = disk;
  tuning.model.reading = judged_reading(o.flags);
  CFFS_TRY(tuning.model.cache_bytes, parse_size(o.cache, "--cache"));
  ProgressLine progress;
  CFFS_TRY(replay::Tuning tuned,
           replay::tune(o.logs, options, tuning, [&](const WorkStep& step) { progress.show(step); }));
  options.mining.algorithm = tuned.choices[tuned.best].algorithm;
  options.rest_bytes = tuned.choices[tuned.best].rest_bytes;
  options.mining.table_bytes = tuned.choices[tuned.best].table_bytes;
  return tuned;
}

// What was tried, and why one was chosen.
void print_tuning(const AnalyzeOptions& o, const replay::Tuning& tuned, const replay::DiskProfile& disk) {
  fmt::print(
      "tuned for {} with {} of cache: mined from the first half and the first 70 % of {} accesses, "
      "judged on the {} after them\n",
      disk.name, o.cache, tuned.accesses, tuned.tail_accesses);
  for (const auto& policy : tuned.policies)
    fmt::print("  {:<67} {:>9.4f} ms\n", "policy " + policy.name + ", no plan", policy.ms_per_access(disk));
  for (std::size_t c = 0; c < tuned.choices.size(); ++c) {
    const replay::TuningChoice& choice = tuned.choices[c];
    fmt::print("  {:<8} tiny ones {:<12} other files {:<23} {:>9.4f} ms{}\n", choice.algorithm,
               choice.table_bytes == 0 ? "in groups" : "in the table",
               choice.rest_bytes == 0 ? "alone" : "by directory, " + human_bytes(choice.rest_bytes),
               choice.evaluation.ms_per_access(disk), c == tuned.best ? "  chosen" : "");
  }
  if (const auto* better = tuned.better_policy(disk); better != nullptr)
    fmt::print("no plan pays here: --policy={} would cost less\n", better->name);
}

nlohmann::ordered_json as_json(const replay::Tuning& tuned, const replay::DiskProfile& disk) {
  nlohmann::ordered_json j{{"disk", disk.name},
                           {"disk_ms_a_place", disk.seek_ms},
                           {"disk_bytes_per_second", disk.bytes_per_second},
                           {"accesses", tuned.accesses},
                           {"tail_accesses", tuned.tail_accesses}};
  for (const auto& policy : tuned.policies)
    j["policies"].push_back({{"policy", policy.name}, {"ms_per_access", policy.ms_per_access(disk)}});
  for (std::size_t c = 0; c < tuned.choices.size(); ++c) {
    const replay::TuningChoice& choice = tuned.choices[c];
    j["choices"].push_back({{"algorithm", choice.algorithm},
                            {"rest_bytes", choice.rest_bytes},
                            {"table_bytes", choice.table_bytes},
                            {"ms_per_access", choice.evaluation.ms_per_access(disk)},
                            {"chosen", c == tuned.best}});
  }
  return j;
}

Result<int> run_analyze(const AnalyzeOptions& o) {
  if (o.spark.given && o.engine != "spark") {
    return fail(
        Error::command_line("--master, --spark, --spark-conf and --spark-log go with --engine=spark"));
  }
  for (const std::string& output : {o.output, o.graph, o.transactions})
    CFFS_TRY_VOID(apart_from(output, o.logs));
  CFFS_TRY(const replay::DiskProfile disk, judged_disk(o.flags));
  CFFS_TRY(replay::AnalysisOptions options, analysis_options(o.flags, disk));
  if (o.flags.disk == "this" && !o.json) fmt::print("{}: {}\n", o.flags.disk_at, described(disk));
  std::optional<replay::Tuning> tuned;
  replay::SparkOptions spark;
  if (o.engine == "spark") {
    if (o.tune)
      return fail(
          Error::command_line("--tune judges many plans, by the native engine: leave out --engine=spark"));
    CFFS_TRY(spark, spark_options(o.spark, o.logs));
    spark.outputs = {o.output, o.graph, o.transactions};
  }
  auto signals =
      std::make_optional<EndingSignals>("interrupted; no plan was written", replay::end_running_spark);
  if (o.tune) {
    CFFS_TRY(tuned, tune(o, disk, options));
    if (!o.json) print_tuning(o, *tuned, disk);
  }
  replay::Analysis analysis;
  {
    ProgressLine progress;
    const auto show = [&](const WorkStep& step) { progress.show(step); };
    CFFS_TRY(analysis, o.engine == "spark" ? replay::analyse_by_spark(o.logs, options, spark, show)
                                           : replay::analyse(o.logs, options, show));
  }
  signals.reset();
  if (!o.output.empty()) CFFS_TRY_VOID(write_plan(o.output, analysis.plan));
  if (!o.graph.empty()) {
    const std::string picture = grouping::draw_plan(analysis.plan, *analysis.transactions);
    CFFS_TRY_VOID(replay::check_transactions(*analysis.transactions));
    CFFS_TRY_VOID(write_text(o.graph, picture));
  }
  if (!o.transactions.empty()) CFFS_TRY_VOID(write_transactions(o.transactions, *analysis.transactions));
  if (o.json) {
    print_json(o, analysis, tuned ? as_json(*tuned, disk) : nlohmann::ordered_json());
  } else {
    print_text(o, analysis);
    if (!o.output.empty()) fmt::print("plan: {}\n", o.output);
    if (!o.graph.empty()) fmt::print("picture: {}\n", o.graph);
  }
  return 0;
}

}  // namespace

void add_analyze(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("analyze", "Mine access logs for files that are used together; write a plan");
  auto o = std::make_shared<AnalyzeOptions>();
  command->add_option("LOG", o->logs, "Access logs, plain, gz, xz, zst or bz2; - for stdin")->required();
  command->add_option("-o,--output", o->output, "Plan to write, an SQLite file");
  add_analysis_flags(*command, o->flags);
  auto* tune = command->add_flag(
      "--tune", o->tune,
      "Choose --algorithm, --rest-bytes and --table-bytes by what does best on the last part of the log");
  command->add_option("--cache", o->cache, "With --tune: cache in front of the disk")
      ->capture_default_str()
      ->needs(tune);
  command->add_option("--top", o->top, "Groups to print")->capture_default_str();
  command->add_option("--graph", o->graph, "Draw the strongest groups and their links, an SVG file");
  command->add_option("--transactions", o->transactions,
                      "Write the sessions as item numbers, a line each, for other programs");
  command->add_flag("--json", o->json, "For programs");
  command
      ->add_option(
          "--engine", o->engine,
          "native: this process; spark: the same by Apache Spark, for logs that one machine does not hold")
      ->check(CLI::IsMember({"native", "spark"}))
      ->capture_default_str();
  add_spark_flags(*command, o->spark);
  command->callback([o, command, &exit_code] {
    o->spark.given = command->count("--master") + command->count("--spark") + command->count("--spark-conf") +
                         command->count("--spark-log") >
                     0;
    o->chosen =
        command->count("--algorithm") + command->count("--rest-bytes") + command->count("--table-bytes") > 0;
    const auto done = run_analyze(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
