// regroup: re-forms the composites of a store, mounted or not.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "core/fs/regrouper.h"
#include "fusefs/operations.h"
#include "grouping/frequency_policy.h"

namespace cffs::cli {
namespace {

struct Options {
  std::string path;
  PolicyChoice policy;
  bool dry_run = false, json = false;
};

std::string attribute(const std::string& path, const char* name) {
  std::string text(64 * 1024, '\0');
  const ssize_t n = ::getxattr(path.c_str(), name, text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

// A mount: its daemon does it, we watch.
Result<std::string> on_mount(const Options& o) {
  PolicyChoice choice = o.policy;
  CFFS_TRY_VOID(check_choice(choice));
  if (!choice.plan.empty()) {
    std::array<char, PATH_MAX> absolute{};
    if (::realpath(choice.plan.c_str(), absolute.data()) == nullptr)
      return fail(errno, "plan " + choice.plan);
    choice.plan = absolute.data();
  }
  const std::string request = choice_json(choice, o.dry_run);
  if (::setxattr(o.path.c_str(), kRegroupXattr, request.data(), request.size(), 0) != 0) {
    if (errno == EBUSY) return fail(EBUSY, "a regrouping of " + o.path + " is under way");
    return fail(errno, "the daemon of " + o.path + " refused; its log says more");
  }
  ProgressLine progress;
  for (;;) {
    const auto status = nlohmann::json::parse(attribute(o.path, kRegroupXattr), nullptr, false);
    if (!status.is_object()) return fail(EIO, o.path + " went away while it was regrouped; run it again");
    const std::string state = status.value("state", "");
    if (state == "failed") return fail(Error::usage(status.value("error", "")));
    if (state == "done") return status.at("report").dump();
    progress.show(status.value("progress", ""));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<std::string> on_store(const Options& o) {
  CFFS_TRY(const OpenStore store, open_store(o.path, o.policy));
  ProgressLine progress;
  RegroupOptions options;
  options.dry_run = o.dry_run;
  options.on_progress = [&](const std::string& text) { progress.show(text); };
  const auto* frequency = dynamic_cast<const grouping::FrequencyPolicy*>(store.fs->policy().get());
  if (frequency != nullptr && !frequency->plan()) {
    progress.show("mining the access record");
    CFFS_TRY(const OwnPlan own, mine_own_accesses(*store.fs, true));
    if (!own.groups) {
      return fail(
          Error::usage(fmt::format("store {} has no plan and its access record ({} accesses) gives none; "
                                   "make one with cffs analyze and name it "
                                   "with --plan",
                                   o.path, own.accesses)));
    }
    store.fs->set_policy(std::make_shared<grouping::FrequencyPolicy>(own.groups));
  }
  CFFS_TRY(const RegroupReport report, regroup(*store.fs, options));
  CFFS_TRY_VOID(store.fs->close());
  return regroup_json(report);
}

Result<int> run(const Options& o) {
  struct stat st;
  if (::stat(o.path.c_str(), &st) != 0) return fail(errno, o.path);
  const bool mounted = !attribute(o.path, kRegroupXattr).empty();
  CFFS_TRY(const std::string text, mounted ? on_mount(o) : on_store(o));
  const auto r = nlohmann::ordered_json::parse(text);
  if (o.json) {
    fmt::print("{}\n", r.dump(2));
    return 0;
  }
  const auto n = [&](const char* key) { return r.at(key).get<std::uint64_t>(); };
  const double groups = static_cast<double>(std::max<std::uint64_t>(1, n("groups")));
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
  return 0;
}

}  // namespace

void add_regroup(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("regroup", "Re-form the composites of a store by a policy; a mount takes it over");
  auto o = std::make_shared<Options>();
  command->add_option("STORE|MNT", o->path, "Store, or where it is mounted")->required();
  add_policy_flags(*command, o->policy);
  command->get_option("--policy")->required();
  command->add_flag("--dry-run", o->dry_run, "Say what would be moved, and move nothing");
  command->add_flag("--json", o->json, "For programs");
  command->callback([o, &exit_code] {
    const auto done = run(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
