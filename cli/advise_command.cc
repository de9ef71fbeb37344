// advise: what a store of a directory would take and give, before anything is made.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <unordered_set>

#include "cli/advise_report.h"
#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/base/clock.h"
#include "core/base/printable.h"
#include "core/base/work_step.h"
#include "fusefs/mount_options.h"
#include "replay/analysis/trial.h"

namespace cffs::cli {
namespace {

struct AdviseOptions {
  std::string directory, disk = "this", log, html, sample = "192M";
  unsigned jobs = std::max(2u, std::thread::hardware_concurrency());
  std::uint64_t seed = 1;
  bool other_devices = false, json = false;
};

// Ctrl-C ends the look; nothing is left behind, since nothing was made.
bool go_on() { return !StopSignals::came(); }

Status check_interrupt() {
  if (go_on()) return {};
  return fail(Error::usage("interrupted; nothing was written"));
}

// The log's accesses by the models of cffs evaluate and the mining of cffs analyze.
Result<LogFindings> look_at_log(const AdviseOptions& o, const Disk& disk, ProgressLine& progress) {
  const auto on_progress = [&](const WorkStep& step) { progress.show(step); };
  replay::TrialOptions trial_options;
  trial_options.disks = {{disk.name, disk.seek_ms, disk.bytes_per_second}};
  trial_options.tree = o.directory;
  trial_options.cold = true;
  trial_options.reading = replay::Reading::mount;
  CFFS_TRY(const replay::Trial trial, replay::try_policies({o.log}, trial_options, on_progress));
  LogFindings found;
  std::size_t best_one = trial.best(0);
  // What wins by a hair is no reason to leave the default.
  for (std::size_t i = 0; i < trial.judgements.size(); ++i) {
    if (trial.judgements[i].name == "directory" &&
        trial.ms_per_access(trial.judgements[i], 0) <=
            1.05 * trial.ms_per_access(trial.judgements[best_one], 0))
      best_one = i;
  }
  const replay::Judgement& best = trial.judgements[best_one];
  const double none = trial.ms_per_access(trial.judgements.front(), 0);
  found.best_policy = best.name.substr(0, best.name.find_first_of(" ,("));  // what was mined says how
  found.latency_of_none = none > 0 ? trial.ms_per_access(best, 0) / none : 1;
  CFFS_TRY(const replay::Analysis analysis, replay::analyse({o.log}, trial_options.analysis, on_progress));
  found.groups = analysis.plan.groups.size();
  if (!analysis.plan.files.empty())
    found.missing = std::min(
        1.0, static_cast<double>(trial.files_not_in_tree) / static_cast<double>(analysis.plan.files.size()));
  std::unordered_set<grouping::Item> grouped;
  for (const auto& group : analysis.plan.groups) grouped.insert(group.items.begin(), group.items.end());
  std::uint64_t accesses = 0, covered = 0;
  for (grouping::Item item = 0; item < analysis.plan.files.size(); ++item) {
    accesses += analysis.plan.files[item].accesses;
    if (grouped.contains(item)) covered += analysis.plan.files[item].accesses;
  }
  found.covered = accesses > 0 ? static_cast<double>(covered) / static_cast<double>(accesses) : 0;
  return found;
}

// The disk that is judged for; what cannot be measured is said, and a model stands for it.
Status choose_disk(const AdviseOptions& o, Advice& a, std::vector<Disk>& disks) {
  disks = modelled_disks();
  a.judged_disk = o.disk;
  if (o.disk != "this") return {};
  auto measured = measure_disk_below(a.survey, go_on);
  if (!measured) {
    a.judged_disk = "ssd";
    a.remark = "the disk itself could not be measured by what lies in the tree; name a model with --disk";
    return {};
  }
  disks.push_back(std::move(*measured));
  a.remark = "measured by reads past the memory";
  return {};
}

Status look(const AdviseOptions& o, Advice& a, ProgressLine& progress) {
  SurveyOptions survey;
  survey.workers = o.jobs;
  survey.other_devices = o.other_devices;
  survey.now_s = SystemClock().now_ns() / 1'000'000'000;
  survey.go_on = go_on;
  survey.on_progress = [&](std::uint64_t names) { progress.show(WorkStep{"looking", names, 0, "names"}); };
  CFFS_TRY(a.survey, survey_tree(o.directory, survey));
  CFFS_TRY_VOID(check_interrupt());
  SampleOptions sample;
  sample.workers = o.jobs;
  sample.seed = o.seed;
  CFFS_TRY(sample.bytes, parse_size(o.sample, "--sample"));
  sample.seconds = 4.0 * static_cast<double>(sample.bytes) / static_cast<double>(192u << 20);
  sample.ways = {{Codec::lz4, 0}, {Codec::zstd, kUsualZstdLevel}};
  sample.go_on = go_on;
  Mutex shown;  // workers tell their progress side by side
  sample.on_progress = [&](std::uint64_t bytes) {
    const MutexLock guard(shown);
    progress.show(WorkStep{"packing a sample", bytes, 0, WorkStep::kBytes});
  };
  CFFS_TRY(a.sample, sample_content(a.survey, usual_format(sample.ways.back()), sample));
  CFFS_TRY_VOID(check_interrupt());
  DuplicateOptions duplicates;
  duplicates.workers = o.jobs;
  duplicates.seed = o.seed;
  duplicates.go_on = go_on;
  duplicates.on_progress = [&](std::uint64_t files) {
    const MutexLock guard(shown);
    progress.show(WorkStep{"comparing files of equal size", files, 0, "files"});
  };
  CFFS_TRY(a.duplicates, find_duplicates(a.survey, duplicates));
  CFFS_TRY_VOID(check_interrupt());
  progress.show("measuring the disk");
  std::vector<Disk> disks;
  CFFS_TRY_VOID(choose_disk(o, a, disks));
  progress.show("importing a sample into memory");
  ImportTrialOptions trial;
  trial.jobs = o.jobs;
  trial.go_on = go_on;
  std::vector<Compression> ways{{}};
  ways.insert(ways.end(), sample.ways.begin(), sample.ways.end());
  const auto paces = try_imports(a.survey, a.sample, ways, trial);
  a.tried_imports = paces.size() == ways.size();
  CFFS_TRY_VOID(check_interrupt());
  a.prediction = predict(a.survey, a.sample, paces, disks, std::max(1u, std::thread::hardware_concurrency()));
  a.sample.drawn = {};
  if (!o.log.empty()) {
    CFFS_TRY(a.log, look_at_log(o, a.on().disk, progress));
  }
  CFFS_TRY_VOID(check_interrupt());
  a.recommendation = recommend(a.survey, a.prediction, a.duplicates, a.on(), a.log ? &*a.log : nullptr);
  return {};
}

Status write_page(const std::string& path, const std::string& page) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << page;
  out.close();
  if (!out) return fail(errno != 0 ? errno : EIO, path);
  return {};
}

Result<int> run_advise(const AdviseOptions& o) {
  CFFS_TRY_VOID(parse_size(o.sample, "--sample"));
  struct stat st;
  if (::stat(o.directory.c_str(), &st) != 0) return fail(errno, o.directory);
  if (!S_ISDIR(st.st_mode)) return fail(Error::usage(o.directory + " is no directory"));
  if (!o.log.empty()) CFFS_TRY_VOID(apart_from(o.html, {o.log}));
  Advice advice;
  advice.directory = o.directory;
  {
    const StopSignals signals({SIGINT, SIGTERM});
    ProgressLine progress;
    CFFS_TRY_VOID(look(o, advice, progress));
  }
  say_problems(advice.survey.problems, advice.survey.failed);
  if (!o.html.empty()) CFFS_TRY_VOID(write_page(o.html, advice_page(advice)));
  fmt::print("{}{}", o.json ? advice_json(advice) : advice_text(advice), o.json ? "\n" : "");
  return 0;
}

}  // namespace

void add_advise(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "advise",
      "Look at a directory, and predict what a store of it would take, gain and lose; changes nothing");
  auto o = std::make_shared<AdviseOptions>();
  command->add_option("DIR", o->directory, "Directory that might become a store")->required();
  command
      ->add_option(
          "--disk", o->disk,
          "Disk that is judged for: hdd, cloud, ssd; this: the one below DIR, measured by reads of its files")
      ->check(CLI::IsMember({"hdd", "cloud", "ssd", "this"}))
      ->capture_default_str();
  command->add_option(
      "--log", o->log,
      "Access log of what is in DIR, of any kind that cffs evaluate reads: which policy wins on it");
  command->add_option("--sample", o->sample, "Bytes that are packed to see how they shrink, at most")
      ->capture_default_str();
  command->add_flag("--other-devices", o->other_devices,
                    "Go into what is mounted below DIR, as cffs import does");
  command->add_option("--jobs", o->jobs, "Directories and composites that are looked at side by side")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  command->add_option("--seed", o->seed, "Of what is drawn by chance")->capture_default_str();
  command->add_flag("--json", o->json, "For programs");
  command->add_option("--html", o->html, "Write a page with pictures there");
  command->callback([o, &exit_code] {
    const auto done = run_advise(*o);
    exit_code = done ? *done : complain(done.error());
    if (StopSignals::came()) exit_code = StopSignals::exit_code();
  });
}

}  // namespace cffs::cli
