// warm: a tree into memory, of a mount or of a store that is mounted later.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "cli/browsed_stores.h"
#include "cli/stop_signals.h"
#include "core/backend/store_at.h"
#include "core/base/work_step.h"
#include "core/rados/address.h"
#include "core/warm/memory_room.h"
#include "core/warm/warming.h"
#include "fusefs/mount_options.h"
#include "fusefs/mount_table.h"

namespace cffs::cli {
namespace {

struct WarmFlags {
  std::string what;
  std::vector<std::string> paths;
  std::string memory;
  unsigned jobs = 4;
  bool foreign_owner = false, metadata = false, quiet = false;
};

WorkStep step_of(const WarmReport& report) {
  if (report.bytes_in_all == 0) return {"looking", report.names, 0, "names"};
  return {"reading", report.bytes, report.bytes_in_all, WorkStep::kBytes,
          fmt::format("{} names", report.names)};
}

// Paths of a mount are below the one that was named, whatever is written in front of them.
Result<std::vector<std::string>> paths_below(const std::string& top, const std::vector<std::string>& paths) {
  std::vector<std::string> found;
  for (const std::string& path : paths) {
    const std::string below = std::filesystem::path(path).relative_path().lexically_normal();
    if (below == ".." || below.starts_with("../"))
      return fail(Error::command_line(path + " leads out of " + top));
    found.push_back(below.empty() || below == "." ? top : top + "/" + below);
  }
  if (found.empty()) found.push_back(top);
  return found;
}

// The store of a mount, opened beside its daemon, which tells where files lie and is read ahead of them: nullopt where it cannot be had at
// once, as in an image, or brings nothing, as in a pool, where what is read stays in no memory of this machine.
std::optional<ReadStore> store_below(const MountEntry& mount) {
  constexpr std::chrono::seconds kWorthWaiting{2};
  struct stat st;
  if (RadosAddress::is_one(mount.source) || ::stat(mount.source.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
    return {};
  auto store = open_store_to_read({mount.source, true}, kWorthWaiting);
  if (!store) return {};
  return std::move(*store);
}

Result<WarmReport> warm_mounted(const MountEntry& mount, const WarmFlags& flags, const WarmOptions& options) {
  CFFS_TRY(const auto paths, paths_below(flags.what, flags.paths));
  std::error_code problem;
  const std::string top = std::filesystem::canonical(flags.what, problem);
  std::optional<ReadStore> store;
  if (!problem && top.starts_with(mount.point)) store = store_below(mount);
  if (!store) return warm_mount(paths, nullptr, options);
  CFFS_TRY(auto inside, paths_below(top.substr(mount.point.size()), flags.paths));
  const StoreBelow below{*store->objects, store->parts(), std::move(inside)};
  return warm_mount(paths, &below, options);
}

Result<WarmReport> warm_at_rest(const WarmFlags& flags, const WarmOptions& options) {
  const StorePlace place = split_store_place(flags.what);
  if (RadosAddress::is_one(place.store)) {
    return fail(Error::command_line(
        place.store +
        " is in a pool, and nothing of it stays in this machine's memory without a mount; warm its mount "
        "(cffs mount --local-cache keeps what was read from one mount to the next)"));
  }
  CFFS_TRY_VOID(check_there(place.store));
  if (!is_store_at(place.store))
    return fail(Error::usage(place.store + " is neither in a mount of cffs nor a store; mounts: cffs list"));
  CFFS_TRY(const ReadStore store, open_store_to_read({place.store, flags.foreign_owner}));
  std::vector<std::string> paths;
  for (const std::string& path : flags.paths) paths.push_back(place.path + "/" + path);
  if (paths.empty()) paths.push_back(place.path);
  return warm_store(*store.objects, store.parts(), paths, options);
}

Result<int> run_warm(const WarmFlags& flags) {
  WarmOptions options;
  options.metadata_only = flags.metadata;
  options.jobs = flags.jobs;
  options.most_bytes = memory_room();
  if (!flags.memory.empty()) {
    CFFS_TRY(options.most_bytes, parse_size(flags.memory, "--memory"));
  }
  const StopSignals signals(kStopSignals);
  options.go_on = [] { return !StopSignals::came(); };
  ProgressLine progress;
  if (!flags.quiet) options.on_progress = [&](const WarmReport& report) { progress.show(step_of(report)); };
  const std::int64_t since_ms = SystemClock().steady_ms();
  const auto mount = cffs_mount_of(flags.what);
  const auto done = mount ? warm_mounted(*mount, flags, options) : warm_at_rest(flags, options);
  progress.clear();
  if (StopSignals::came()) {
    if (!flags.quiet) say("it was interrupted; what is in memory stays there");
    return StopSignals::exit_code();
  }
  if (!done) return fail(done.error());
  const WarmReport& report = *done;
  const double seconds = static_cast<double>(SystemClock().steady_ms() - since_ms) / 1e3;
  if (!flags.quiet) {
    std::string text = fmt::format("warm: {} names in {} directories", report.names, report.directories);
    if (report.bytes_in_all > 0) text += fmt::format(", {}", human_bytes(report.bytes));
    if (report.found_bytes > 0)
      text += fmt::format(" ({} of it were in memory)", human_bytes(report.found_bytes));
    fmt::print("{}, {:.2f} s\n", text, seconds);
  }
  say_problems(report.problems, report.failed);
  if (report.memory_full) {
    return fail(Error::usage(fmt::format(
        "stopped where {} of memory were filled{}: more would push out what is there ({} of {} were read); "
        "name fewer PATHs, or say --memory",
        human_bytes(options.most_bytes), flags.memory.empty() ? ", three quarters of what is available" : "",
        human_bytes(report.bytes), human_bytes(report.bytes_in_all))));
  }
  return report.failed == 0 ? 0 : 1;
}

}  // namespace

void add_warm(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "warm", "Bring names, attributes and data of a tree into memory before a job needs them");
  auto o = std::make_shared<WarmFlags>();
  command->add_option("MNT|STORE", o->what, "A mount, or a directory in it, or a store that is mounted later")
      ->required();
  command->add_option("PATH", o->paths, "Files and directories in it; all of it where none is named");
  command->add_flag("--metadata", o->metadata, "Names and attributes, without the data");
  command->add_option("--memory", o->memory,
                      "How much may be filled (64M, 2G); else three quarters of what is available");
  command->add_option("--jobs", o->jobs, "Files of a mount that are read at a time")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  command->add_flag("-q,--quiet", o->quiet, "Neither progress nor what was done");
  command->add_flag("--foreign-owner", o->foreign_owner,
                    "The store may belong to another user, who is trusted with what is in it");
  command->callback([o, &exit_code] {
    const auto done = run_warm(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
