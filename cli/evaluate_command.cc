// evaluate: which policy would win on a log.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/analysis_options.h"
#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/plan/plan_database.h"
#include "fusefs/mount_options.h"
#include "replay/analysis/trial.h"
#include "replay/trace/trace_file.h"

namespace cffs::cli {
namespace {

struct EvaluateOptions {
  std::vector<std::string> inputs;
  AnalysisFlags flags;
  PolicyChoice references;
  std::string tree, cache = "64M";
  double train = 0.7;
  std::vector<double> splits{0.3, 0.5, 0.7, 0.9};
  bool cold = false, json = false;
};

// Milliseconds an access at each split: whether a policy wins by the choice of one.
void print_splits(const replay::Trial& t, std::size_t disk) {
  if (t.splits.empty()) return;
  fmt::print("{:<24}", t.disks[disk].name + " ms, mined from");
  for (const auto& split : t.splits) fmt::print(" {:>8.0f}%", 100 * split.train);
  fmt::print("\n");
  for (std::size_t p = 0; p < t.judgements.size(); ++p) {
    fmt::print("{:<24}", t.judgements[p].name);
    for (const auto& split : t.splits) fmt::print(" {:>9.4f}", t.ms_per_access(split.judgements[p], disk));
    fmt::print("\n");
  }
}

// `judged`: the disk whose reads are shown, by its number.
void print_text(const EvaluateOptions& o, const replay::Trial& t, std::size_t judged) {
  if (o.flags.disk == "this") fmt::print("{}: {}\n", o.flags.disk_at, described(t.disks[judged]));
  fmt::print("judged on the last {} accesses; mined from the {} before: {} groups\n", t.test_accesses,
             t.train_accesses, t.mined_groups);
  fmt::print(
      "tree: {} files, {}{}; cache: {}; reads of {}\n", t.files, human_bytes(t.bytes),
      t.files_not_in_tree > 0 ? fmt::format(" ({} of the log are not in it)", t.files_not_in_tree) : "",
      o.cache, t.disks[judged].name);
  fmt::print("{:<24} {:>9} {:>9} {:>9} {:>12} {:>9}", "policy", "hit rate", "seeks", "reads", "read",
             "wasted");
  for (const auto& d : t.disks) fmt::print(" {:>11}", d.name + " ms");
  fmt::print("\n");
  for (const auto& judgement : t.judgements) {
    const auto& e = judgement.on[judged];
    fmt::print("{:<24} {:>8.1f}% {:>9} {:>9} {:>12} {:>8.1f}%", e.name, 100 * e.hit_rate(), e.seeks, e.reads,
               human_bytes(e.bytes_read), 100 * e.waste());
    for (std::size_t d = 0; d < t.disks.size(); ++d) fmt::print(" {:>11.4f}", t.ms_per_access(judgement, d));
    fmt::print("\n");
  }
  print_splits(t, judged);
  if (!t.has_reference)
    fmt::print("reference was not judged: it reads documents; name their directory with --tree\n");
  const auto& best = t.judgements[t.best(judged)];
  const double none = t.ms_per_access(t.judgements.front(), judged);
  fmt::print("recommended for {}: {} (predicted latency {:.2f} of none's)\n", t.disks[judged].name, best.name,
             none > 0 ? t.ms_per_access(best, judged) / none : 1.0);
}

nlohmann::ordered_json as_json(const replay::Trial& t, const replay::Judgement& judgement,
                               std::size_t judged) {
  const auto& e = judgement.on[judged];
  nlohmann::ordered_json one{{"policy", e.name},           {"accesses", e.accesses},    {"hits", e.hits},
                             {"hit_rate", e.hit_rate()},   {"seeks", e.seeks},          {"reads", e.reads},
                             {"bytes_read", e.bytes_read}, {"bytes_used", e.bytes_used}};
  for (std::size_t d = 0; d < t.disks.size(); ++d)
    one["ms_per_access"][t.disks[d].name] = t.ms_per_access(judgement, d);
  return one;
}

void print_json(const replay::Trial& t, std::size_t judged) {
  nlohmann::ordered_json j{{"train_accesses", t.train_accesses},
                           {"test_accesses", t.test_accesses},
                           {"files", t.files},
                           {"files_not_in_tree", t.files_not_in_tree},
                           {"bytes", t.bytes},
                           {"mined_groups", t.mined_groups},
                           {"reads_of", t.disks[judged].name}};
  for (const auto& disk : t.disks)
    j["disks"][disk.name] = {{"ms_a_place", disk.seek_ms}, {"bytes_per_second", disk.bytes_per_second}};
  for (const auto& judgement : t.judgements) j["policies"].push_back(as_json(t, judgement, judged));
  for (const auto& split : t.splits) {
    nlohmann::ordered_json one{{"train", split.train}};
    for (const auto& judgement : split.judgements) one["policies"].push_back(as_json(t, judgement, judged));
    j["splits"].push_back(std::move(one));
  }
  for (std::size_t d = 0; d < t.disks.size(); ++d)
    j["recommended"][t.disks[d].name] = t.judgements[t.best(d)].name;
  fmt::print("{}\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Traces are SQLite files as well, and most are called .db, too. What is there says what it is; what is not there, or
// is no database, goes by its name.
bool is_plan(const std::string& input) {
  return is_plan_file(input) || (input.ends_with(".db") && !replay::is_trace_file(input));
}

Result<int> run_evaluate(const EvaluateOptions& o) {
  replay::TrialOptions options;
  CFFS_TRY(const replay::DiskProfile disk, judged_disk(o.flags));
  CFFS_TRY(options.analysis, analysis_options(o.flags, disk));
  if (options.analysis.adjacency) {
    return fail(Error::command_line(
        "evaluate mines by sessions; judge the adjacency variant by the plan that analyze makes of it"));
  }
  CFFS_TRY(options.cache_bytes, parse_size(o.cache, "--cache"));
  options.reading = judged_reading(o.flags);
  // The models, and the one that was measured.
  if (replay::find_disk(disk.name) == nullptr) options.disks.push_back(disk);
  const auto judged = static_cast<std::size_t>(
      std::find_if(options.disks.begin(), options.disks.end(),
                   [&](const replay::DiskProfile& one) { return one.name == disk.name; }) -
      options.disks.begin());
  options.train = o.train;
  options.splits = o.splits;
  options.cold = o.cold;
  options.tree = o.tree;
  options.references.depth = o.references.depth;
  options.references.shared = o.references.shared;
  if (grouping::leads_out(o.references.site_root)) {
    return fail(
        Error::command_line("--site-root=" + o.references.site_root +
                            " leads out of the tree; give the directory in it where the site begins"));
  }
  if (!o.references.site_root.empty())
    options.references.resolve.site_root = grouping::normalised(o.references.site_root);
  struct stat st;
  if (!o.tree.empty() && (::stat(o.tree.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))) {
    return fail(Error::usage("--tree=" + o.tree + " is no directory"));
  }
  std::vector<std::string> logs;
  for (const std::string& input : o.inputs) (is_plan(input) ? options.plans : logs).push_back(input);
  if (logs.empty()) return fail(Error::command_line("no log or trace among the arguments: plans alone"));
  replay::Trial trial;
  {
    const EndingSignals signals("interrupted; nothing was judged to the end");
    ProgressLine progress;
    CFFS_TRY(trial, replay::try_policies(logs, options, [&](const WorkStep& step) { progress.show(step); }));
  }
  if (o.json) {
    print_json(trial, judged);
  } else {
    print_text(o, trial, judged);
  }
  return 0;
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("evaluate", "Predict which policy would win on a log, without building anything");
  auto o = std::make_shared<EvaluateOptions>();
  command->add_option("LOG|PLAN.db", o->inputs, "Access logs or traces, and plans to judge as well")
      ->required();
  add_analysis_flags(*command, o->flags);
  auto* tree = command->add_option(
      "--tree", o->tree, "Directory with the files; needed to judge reference, and for files never accessed");
  command
      ->add_option("--site-root", o->references.site_root, "Where URLs that begin with / start, in the tree")
      ->needs(tree);
  command->add_option("--depth", o->references.depth, "How far references are followed")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str()
      ->needs(tree);
  command
      ->add_option("--shared", o->references.shared,
                   "Files that so many documents embed are grouped apart; 0: never")
      ->capture_default_str()
      ->needs(tree);
  command->add_option("--train", o->train, "Share of the accesses, from the beginning, that mining sees")
      ->check(between(0.01, 0.99))
      ->capture_default_str();
  command->add_option("--splits", o->splits, "Other shares at which all are judged as well, split by commas")
      ->delimiter(',')
      ->check(between(0.01, 0.99));
  command->add_flag("--cold", o->cold, "Begin with an empty cache, as a replay on a fresh mount does");
  command->add_option("--cache", o->cache, "Cache in front of the disk")->capture_default_str();
  command->add_flag("--json", o->json, "For programs");
  command->callback([o, &exit_code] {
    const auto done = run_evaluate(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
