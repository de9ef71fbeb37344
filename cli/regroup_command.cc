// regroup: re-forms the composites of a store, mounted or not.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <climits>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/base/work_step.h"
#include "core/plan/plan_coverage.h"
#include "core/reorganise/own_plan.h"
#include "core/reorganise/policy_adoption.h"
#include "core/reorganise/regrouping.h"
#include "fusefs/operations.h"
#include "grouping/frequency_policy.h"

namespace cffs::cli {
namespace {

struct RegroupFlags {
  StoreName store;
  PolicyChoice policy;
  bool by_policy = false;  // one was named
  std::string compress;    // empty: as it is
  std::string dedupe;      // the same
  bool plan_ahead = false, dry_run = false, json = false, cancel = false;
};

Result<std::optional<Compression>> compression_of(const RegroupFlags& o) {
  if (o.compress.empty()) return std::optional<Compression>();
  CFFS_TRY(const Compression how, parse_compression(o.compress));
  return std::optional<Compression>(how);
}

std::optional<bool> dedupe_of(const RegroupFlags& o) {
  return o.dedupe.empty() ? std::nullopt : std::optional(o.dedupe == "on");
}

// What a run has to tell: the report as JSON, and where a plan was given how much of it concerns the store.
struct Outcome {
  std::string report;
  std::optional<PlanCoverage> coverage;
  bool interrupted = false;  // whoever watched a mount has stopped to
};

// Refuses a plan of another tree, before the store takes it for its own.
Status check_coverage(const RegroupFlags& o, const PlanCoverage& coverage) {
  if (coverage.is_strange() && !o.plan_ahead) return fail(strange_plan(o.policy.plan, coverage));
  return {};
}

// In a mount, as whoever asks sees it; what he may not look at counts as being there.
PlanCoverage coverage_in_mount(const std::string& mount_point, const grouping::PlanGroups& plan) {
  PlanCoverage coverage = plan_coverage(plan, [&](const std::string& path) {
    struct stat st;
    if (::lstat((mount_point + "/" + path).c_str(), &st) == 0) return S_ISREG(st.st_mode);
    return errno == EACCES;
  });
  std::error_code error;
  coverage.store_is_empty = std::filesystem::is_empty(mount_point, error) && !error;
  return coverage;
}

Result<int> cancel(const RegroupFlags& o) {
  CFFS_TRY_VOID(check_there(o.store.path));
  if (mount_attribute(o.store.path, kRegroupXattr).empty())
    return fail(Error::usage(o.store.path + " is no mount's root; what regroups a store ends with Ctrl-C"));
  RegroupRequest asked;
  asked.cancel = true;
  const std::string request = request_json(asked);
  if (::setxattr(o.store.path.c_str(), kRegroupXattr, request.data(), request.size(), 0) != 0) {
    if (errno == ENODATA) return fail(Error::usage("no regrouping of " + o.store.path + " is under way"));
    return fail(errno, "the daemon of " + o.store.path + " refused");
  }
  for (;;) {
    const auto status = nlohmann::json::parse(mount_attribute(o.store.path, kRegroupXattr), nullptr, false);
    if (!status.is_object()) return fail(EIO, o.store.path + " went away meanwhile");
    if (status.value("state", "") != "running") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  fmt::print("the regrouping of {} has ended; what was moved stays moved, the same command goes on\n",
             o.store.path);
  return 0;
}

// A mount: its daemon does it, we watch.
Result<Outcome> on_mount(const RegroupFlags& o) {
  PolicyChoice choice = o.policy;
  CFFS_TRY_VOID(check_choice(choice));
  Outcome outcome;
  if (!choice.plan.empty()) {
    outcome.coverage = coverage_in_mount(o.store.path, *choice.groups);
    CFFS_TRY_VOID(check_coverage(o, *outcome.coverage));
    std::array<char, PATH_MAX> absolute{};
    if (::realpath(choice.plan.c_str(), absolute.data()) == nullptr)
      return fail(errno, "plan " + choice.plan);
    choice.plan = absolute.data();
  }
  RegroupRequest asked;
  if (o.by_policy) asked.choice = std::move(choice);
  CFFS_TRY(asked.compression, compression_of(o));
  asked.dedupe = dedupe_of(o);
  asked.dry_run = o.dry_run;
  const std::string request = request_json(asked);
  if (::setxattr(o.store.path.c_str(), kRegroupXattr, request.data(), request.size(), 0) != 0) {
    if (errno == EBUSY) return fail(EBUSY, "a regrouping of " + o.store.path + " is under way");
    return fail(errno, "the daemon of " + o.store.path + " refused; its log says more");
  }
  ProgressLine progress;
  // Ctrl-C ends the watching, not the regrouping.
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));
  for (;;) {
    if (StopSignals::came()) {
      progress.clear();
      say(fmt::format("{0} is regrouped on by its daemon; to end that: cffs regroup --cancel {0}",
                      o.store.path));
      outcome.interrupted = true;
      return outcome;
    }
    const auto status = nlohmann::json::parse(mount_attribute(o.store.path, kRegroupXattr), nullptr, false);
    if (!status.is_object())
      return fail(EIO, o.store.path + " went away while it was regrouped; run it again");
    // What was asked for: beside it the daemon tells of what it does by itself. One of before that has a single job, whoever it is for.
    const auto asked_for = status.value("asked", status);
    const std::string state = asked_for.value("state", "");
    if (state == "failed") return fail(Error::usage(asked_for.value("error", "")));
    if (state == "done") {
      outcome.report = asked_for.at("report").dump();
      return outcome;
    }
    if (state != "running")
      return fail(EIO, o.store.path + " was mounted anew while it was regrouped; run it again");
    progress.show(step_of_json(status.value("progress", nlohmann::json()).dump()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Frequency without a plan: what the store's own accesses say.
Result<std::shared_ptr<const grouping::Policy>> policy_of_record(const std::string& path, FileSystem& fs) {
  CFFS_TRY(const OwnPlan own, mine_own_accesses(fs, true));
  if (!own.groups) {
    return fail(
        Error::usage(fmt::format("store {} has no plan and its access record ({} accesses) gives none; "
                                 "make one with cffs analyze and name it "
                                 "with --plan",
                                 path, own.accesses)));
  }
  return std::make_shared<grouping::FrequencyPolicy>(own.groups);
}

Result<Outcome> on_store(const RegroupFlags& o) {
  PolicyChoice choice = o.policy;
  CFFS_TRY_VOID(check_choice(choice));
  CFFS_TRY(const OpenStore store, o.dry_run ? open_store_for_reading(o.store) : open_store(o.store));
  Outcome outcome;
  if (choice.groups) {
    CFFS_TRY(outcome.coverage, plan_coverage(*choice.groups, *store.fs));
    CFFS_TRY_VOID(check_coverage(o, *outcome.coverage));
  }
  ProgressLine progress;
  RegroupOptions options;
  options.dry_run = o.dry_run;
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));
  options.stop = &StopSignals::flag();
  options.on_progress = [&](const WorkStep& step) { progress.show(step); };
  CFFS_TRY(options.compression, compression_of(o));
  options.dedupe = dedupe_of(o);
  if (!o.by_policy) {
    Reorganiser reorganiser(*store.fs);
    CFFS_TRY(const RegroupReport report, change_storage(reorganiser, options));
    CFFS_TRY_VOID(store.fs->close());
    outcome.report = regroup_json(report);
    return outcome;
  }
  CFFS_TRY(auto policy, choose_policy(*store.objects, choice));
  if (policy->id() == grouping::PolicyId::frequency && !policy->plan()) {
    progress.show("mining the access record");
    CFFS_TRY(policy, policy_of_record(o.store.path, *store.fs));
  }
  if (!o.dry_run) {
    CFFS_TRY_VOID(adopt_policy(*store.fs, std::move(policy)));
    policy = store.fs->policy();
  }
  Reorganiser reorganiser(*store.fs);
  CFFS_TRY(const RegroupReport report, regroup(reorganiser, *policy, options));
  CFFS_TRY_VOID(store.fs->close());
  outcome.report = regroup_json(report);
  return outcome;
}

Result<int> run_regroup(RegroupFlags o) {
  const bool of_policies = o.dry_run || o.plan_ahead || !o.policy.plan.empty() ||
                           !o.policy.site_root.empty() || o.policy.depth != PolicyChoice().depth ||
                           o.policy.shared != PolicyChoice().shared;
  if (o.cancel) {
    if (of_policies || o.by_policy || o.json || !o.compress.empty() || !o.dedupe.empty())
      return fail(Error::command_line("--cancel ends what is under way: leave all else away"));
    return cancel(o);
  }
  if (!o.by_policy && o.compress.empty() && o.dedupe.empty())
    return fail(Error::command_line("name a --policy, how to --compress, or whether to --dedupe"));
  if (o.plan_ahead && o.policy.plan.empty())
    return fail(Error::command_line("--plan-ahead goes with --plan"));
  if (!o.by_policy && of_policies)
    return fail(Error::command_line(
        "without a --policy no file is moved: leave --dry-run and what policies take away"));
  CFFS_TRY_VOID(compression_of(o));
  if (o.by_policy) CFFS_TRY_VOID(check_choice(o.policy));
  CFFS_TRY_VOID(check_there(o.store.path));
  const bool mounted = !mount_attribute(o.store.path, kRegroupXattr).empty();
  CFFS_TRY(const Outcome outcome, mounted ? on_mount(o) : on_store(o));
  if (outcome.interrupted) return StopSignals::exit_code();
  auto r = nlohmann::ordered_json::parse(outcome.report);
  const bool stopped = r.value("stopped", false);
  const int code = !stopped ? 0 : StopSignals::came() ? StopSignals::exit_code() : 1;
  if (stopped) say("it was interrupted; what was moved stays moved, the same command goes on");
  if (o.json) {
    if (outcome.coverage) {
      r["plan_files"] = outcome.coverage->files;
      r["plan_files_found"] = outcome.coverage->found;
    }
    fmt::print("{}\n", r.dump(2));
    return code;
  }
  const auto n = [&](const char* key) { return r.at(key).get<std::uint64_t>(); };
  if (o.dedupe == "on" && !o.dry_run)
    fmt::print("files that share what others have from now on: {}, {}\n", n("files_shared"),
               human_bytes(n("bytes_shared")));
  if (!o.compress.empty() && !o.dry_run)
    fmt::print("composites that were packed anew: {}\n", n("packed_anew"));
  if (!o.by_policy) return code;
  const double groups = static_cast<double>(std::max<std::uint64_t>(1, n("groups")));
  if (outcome.coverage) fmt::print("{}\n", outcome.coverage->sentence());
  fmt::print("policy {}: {} small files, {} groups of two and more, {} of them in place\n",
             r.at("policy").get<std::string>(), n("files"), n("groups"), n("groups_in_place"));
  fmt::print("places to read for a group: {:.2f} before, {:.2f} after\n",
             static_cast<double>(n("reads_before")) / groups, static_cast<double>(n("reads_after")) / groups);
  if (o.dry_run) {
    fmt::print("would move {} files, {}\n", n("files_to_move"), human_bytes(n("bytes_to_move")));
  } else {
    fmt::print("moved {} of {} files, {}; composites: {} before, {} after\n", n("files_moved"),
               n("files_to_move"), human_bytes(n("bytes_to_move")), n("composites_before"),
               n("composites_after"));
  }
  return code;
}

}  // namespace

void add_regroup(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("regroup", "Re-form the composites of a store by a policy; a mount takes it over");
  auto o = std::make_shared<RegroupFlags>();
  add_store_argument(*command, "STORE|MNT", o->store, "Store, or where it is mounted")->required();
  add_policy_flags(*command, o->policy);
  command->get_option("--policy")->default_str("");
  command->add_option(
      "--compress", o->compress,
      "How composites are compressed from now on, and those that are there: zstd[:LEVEL], lz4, none");
  command
      ->add_option("--dedupe", o->dedupe,
                   "Whether files with the same content share it from now on, those that are there, too: on; "
                   "or no more come to it: off")
      ->check(CLI::IsMember({"on", "off"}));
  add_plan_ahead_flag(*command, o->plan_ahead);
  command->add_flag("--dry-run", o->dry_run, "Say what would be moved, and move nothing");
  command->add_flag("--json", o->json, "For programs");
  command->add_flag("--cancel", o->cancel,
                    "End what the daemon of a mount regroups just now, at the next group");
  command->callback([o, command, &exit_code] {
    o->by_policy = command->count("--policy") > 0;
    const auto done = run_regroup(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
