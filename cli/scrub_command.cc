// scrub: reads a whole store, mounted or not, and names what is damaged.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/base/work_step.h"
#include "core/inspect/scrub.h"
#include "core/reorganise/cataloguing.h"
#include "fusefs/mount_options.h"
#include "fusefs/operations.h"

namespace cffs::cli {
namespace {

struct ScrubFlags {
  StoreName store;
  std::string rate;  // empty: the default, which differs
  bool anew = false, stop = false, status = false, json = false;
};

constexpr const char* kMountRate = "50M";  // a mount has users who want the medium, too

std::string counts(std::uint64_t files, std::uint64_t bytes, std::uint64_t damaged) {
  return fmt::format("{} files, {}, {} damaged", files, human_bytes(bytes), damaged);
}

WorkStep reading_step(std::uint64_t files, std::uint64_t bytes, std::uint64_t bytes_in_all,
                      std::uint64_t damaged) {
  return {"reading", bytes, bytes_in_all, WorkStep::kBytes,
          fmt::format("{} files, {} damaged", files, damaged)};
}

int finish(const ScrubFlags& o, const nlohmann::ordered_json& report) {
  const auto n = [&](const char* key) { return report.at(key).get<std::uint64_t>(); };
  const bool finished = report.at("state") == "done";
  if (o.json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    fmt::print("{}: {}{}{}\n", o.store.path, counts(n("files"), n("bytes"), n("damaged")),
               n("sealed") > 0 ? fmt::format(", {} large files got checksums", n("sealed")) : "",
               finished ? "" : "; not finished, run it again to go on");
  }
  if (StopSignals::came()) return StopSignals::exit_code();
  if (n("damaged") > 0) return kNotMended;
  // Nobody knows yet that nothing is damaged. Who stops one has what he asked for, who asks for one that is under way, too.
  return finished || o.stop || report.at("state") == "running" ? kClean : kCouldNotRun;
}

nlohmann::ordered_json report_of(const ScrubProgress& progress) {
  return {{"state", progress.finished ? "done" : "stopped"},
          {"files", progress.files},
          {"bytes", progress.bytes},
          {"sealed", progress.sealed},
          {"damaged", progress.damaged}};
}

Status ask(const ScrubFlags& o, const nlohmann::json& request) {
  const std::string text = request.dump();
  if (::setxattr(o.store.path.c_str(), kScrubXattr, text.data(), text.size(), 0) == 0) return {};
  if (errno == EBUSY)
    return fail(EBUSY, "a scrub of " + o.store.path + " is under way; cffs scrub --status or --stop");
  if (errno == EROFS) {
    return fail(Error::usage(o.store.path +
                             " is mounted read-only; cffs fsck of its store reads everything beside it"));
  }
  return fail(errno, "the daemon of " + o.store.path + " refused; its log says more");
}

// The daemon does it, we watch.
Result<int> on_mount(const ScrubFlags& o) {
  if (o.stop) CFFS_TRY_VOID(ask(o, {{"stop", true}}));
  if (!o.stop && !o.status) {
    CFFS_TRY(const std::uint64_t rate, parse_size(o.rate.empty() ? kMountRate : o.rate, "--rate"));
    CFFS_TRY_VOID(ask(o, {{"rate", rate}, {"anew", o.anew}}));
  }
  ProgressLine progress;
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));  // ends the watching, not the scrub
  std::size_t told = 0;
  for (;;) {
    const auto status =
        nlohmann::ordered_json::parse(mount_attribute(o.store.path, kScrubXattr), nullptr, false);
    if (!status.is_object()) return fail(EIO, o.store.path + " went away; run it again to go on");
    const auto& damages = status.at("damages");
    for (; !o.json && told < damages.size(); ++told) {
      progress.clear();
      fmt::print("{}\n", damages[told].get<std::string>());
    }
    const std::string state = status.value("state", "");
    if (state == "failed") return fail(Error::usage(status.value("error", "")));
    if (state != "running" || o.status) {
      progress.clear();
      if (!o.json && o.status) fmt::print("{}\n", state);
      return finish(o, status);
    }
    if (StopSignals::came()) {
      progress.clear();
      say(fmt::format("{0} is scrubbed on by its daemon; to end that: cffs scrub --stop {0}", o.store.path));
      return StopSignals::exit_code();
    }
    progress.show(reading_step(status.at("files"), status.at("bytes"),
                               status.value("bytes_in_all", std::uint64_t{0}), status.at("damaged")));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<int> on_store(const ScrubFlags& o) {
  if (o.stop)
    return fail(Error::usage(o.store.path + " is not mounted: nothing scrubs it in the background"));
  if (o.status) {
    CFFS_TRY(const OpenStore store, open_store_for_reading(o.store));
    CFFS_TRY(const auto last, Scrub::last(*store.fs));
    if (!last) return fail(Error::usage(o.store.path + " was never scrubbed"));
    return finish(o, report_of(*last));
  }
  CFFS_TRY(const OpenStore store, open_store(o.store));
  ProgressLine line;
  ScrubOptions options;
  CFFS_TRY(options.bytes_per_second, parse_size(o.rate.empty() ? "0" : o.rate, "--rate"));
  options.anew = o.anew;
  options.quiet_ms = 0;  // nobody else changes anything
  options.on_damage = [&](const std::string& sentence) {
    line.clear();
    if (!o.json) fmt::print("{}\n", sentence);
  };
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));
  options.go_on = [] { return !StopSignals::came(); };
  options.on_progress = [&](const ScrubProgress& p) {
    line.show(reading_step(p.files, p.bytes, p.bytes_in_all, p.damaged));
  };
  CFFS_TRY(const ScrubProgress done, Scrub(*store.fs, options).run());
  line.clear();
  // A mount's daemon does so by itself. One that cannot be had is no damage.
  const auto catalogue =
      done.finished ? write_catalogue(*store.fs, [] { return true; }) : Result<std::uint64_t>(0);
  if (!catalogue) say("the catalogue stays as it was: " + catalogue.error().message());
  CFFS_TRY_VOID(store.fs->close());
  return finish(o, report_of(done));
}

Result<int> run_scrub(const ScrubFlags& o) {
  if (!o.rate.empty()) CFFS_TRY_VOID(parse_size(o.rate, "--rate"));
  CFFS_TRY_VOID(check_there(o.store.path));
  return mount_attribute(o.store.path, kScrubXattr).empty() ? on_store(o) : on_mount(o);
}

}  // namespace

void add_scrub(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "scrub", "Read everything that a store has from its medium, and name each file that is damaged");
  auto o = std::make_shared<ScrubFlags>();
  add_store_argument(*command, "STORE|MNT", o->store,
                     "Store, or where it is mounted: its daemon does it then")
      ->required();
  auto* rate = command->add_option(
      "--rate", o->rate,
      fmt::format("Bytes per second, such as 20M; 0: as fast as it goes (of a mount: {})", kMountRate));
  auto* anew =
      command->add_flag("--anew", o->anew, "From the start, also where an earlier one was not finished");
  auto* stop = command->add_flag("--stop", o->stop, "Stop the one of a mount; it can be gone on with")
                   ->excludes(rate)
                   ->excludes(anew);
  command->add_flag("--status", o->status, "Say how far the one under way is, or the last one came")
      ->excludes(stop)
      ->excludes(rate)
      ->excludes(anew);
  command->add_flag("--json", o->json, "For programs");
  command->footer(
      "Goes on where an earlier one was stopped. A mount's goes on when this command is interrupted.\n"
      "Exit code: 0 nothing is damaged, 4 something is (one line each), 8 it could not run, or was stopped\n"
      "before its end, also where --status finds that.");
  command->callback([o, &exit_code] {
    const auto done = run_scrub(*o);
    exit_code = done ? *done : complain(done.error(), kCouldNotRun);
  });
}

}  // namespace cffs::cli
