// backup: a copy of one moment of a store, mounted or not, into a directory; again and again.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/backup/backup_job.h"
#include "fusefs/mount_options.h"
#include "fusefs/mount_table.h"
#include "fusefs/operations.h"

namespace cffs::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BackupFlags {
  StoreName source;
  std::string place, rate = "0";
  bool stop = false, status = false, json = false;
  std::string named;  // the source, as it was
};

std::string backup_counts(const Json& report) {
  const auto n = [&](const char* key) { return report.at(key).get<std::uint64_t>(); };
  return fmt::format("{} files, {} objects copied, {} kept, {}", n("files"), n("objects_copied"),
                     n("objects_kept"), human_bytes(n("bytes")));
}

// "2026-01-31 23:59:59.123 UTC"
std::string moment_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000, kMs = 1'000'000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} UTC", fmt::gmtime(static_cast<std::time_t>(ns / kSecond)),
                     ns % kSecond / kMs);
}

int finish(const BackupFlags& o, const Json& report) {
  const auto n = [&](const char* key) { return report.at(key).get<std::uint64_t>(); };
  const std::string state = report.at("state");
  if (state == "failed") say(report.value("error", ""));
  if (o.json) {
    fmt::print("{}\n", report.dump(2));
  } else if (state == "idle") {
    fmt::print("{}: no backup was made since it was mounted\n", o.source.path);
  } else {
    fmt::print("{}: {}{}, {:.1f} s{}{}\n", report.at("place").get<std::string>(),
               state == "done" ? "" : state + ", ", backup_counts(report), static_cast<double>(n("ms")) / 1e3,
               n("damaged") > 0 ? fmt::format(", {} damaged", n("damaged")) : "",
               n("moment_ns") > 0 ? "; as of " + moment_text(report.at("moment_ns")) : "");
  }
  if (n("damaged") > 0) return kNotMended;
  return state == "failed" || state == "stopped" ? kCouldNotRun : kClean;
}

Result<std::string> absolute_place(const std::string& place) {
  if (place.empty()) return fail(Error::command_line("name the directory that the backup is to be in"));
  std::error_code problem;
  const auto path = std::filesystem::absolute(place, problem).lexically_normal();
  if (problem) return fail(problem.value(), place);
  return path.string();
}

// A daemon that writes into its own mount would wait for itself.
Status check_outside(const std::string& mount, const std::string& place) {
  struct stat own, there;
  if (::stat(mount.c_str(), &own) != 0) return fail(errno, mount);
  std::filesystem::path at = place;
  while (::stat(at.c_str(), &there) != 0 && at.has_relative_path()) at = at.parent_path();
  if (own.st_dev != there.st_dev) return {};
  return fail(Error::usage(place + " is in the mount " + mount + " itself; name a place outside of it"));
}

Status ask_for_backup(const std::string& mount, const nlohmann::json& request) {
  const std::string text = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (::setxattr(mount.c_str(), kBackupXattr, text.data(), text.size(), 0) == 0) return {};
  if (errno == EBUSY)
    return fail(EBUSY, "a backup of " + mount + " is under way; cffs backup --status or --stop");
  if (errno == EROFS)
    return fail(Error::usage(mount + " is mounted read-only; unmount it, and name its store"));
  return fail(errno, "the daemon of " + mount + " refused; its log says more");
}

// Shows how it goes, until it has ended, or nobody wants to watch any more (or once). `told`: said already of damages.
Result<Json> watch_backup(const std::string& mount, bool quiet, bool once) {
  ProgressLine progress;
  std::size_t told = 0;
  for (;;) {
    const auto status = Json::parse(mount_attribute(mount, kBackupXattr), nullptr, false);
    if (!status.is_object())
      return fail(EIO, mount + " went away, and the backup with it; what there was before is as it was");
    const auto& damages = status.at("damages");
    for (; !quiet && told < damages.size(); ++told) {
      progress.clear();
      fmt::print("{}\n", damages[told].get<std::string>());
    }
    const std::string state = status.value("state", "");
    progress.clear();
    if (state == "failed" && !once) {
      if (status.at("damaged") > 0) return status;
      return fail(Error::usage(status.value("error", "")));
    }
    if (state != "running" || once || StopSignals::came()) return status;
    progress.show(backup_counts(status));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<int> on_mount(const BackupFlags& o) {
  if (o.stop) CFFS_TRY_VOID(ask_for_backup(o.source.path, {{"stop", true}}));
  if (!o.stop && !o.status) {
    CFFS_TRY(const std::string place, absolute_place(o.place));
    CFFS_TRY_VOID(check_outside(o.source.path, place));
    CFFS_TRY(const std::uint64_t rate, parse_size(o.rate, "--rate"));
    CFFS_TRY_VOID(ask_for_backup(o.source.path, {{"place", place}, {"rate", rate}}));
  }
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));  // ends the watching, not the backup
  CFFS_TRY(const Json report, watch_backup(o.source.path, o.json, o.status));
  if (StopSignals::came() && !o.status && report.at("state") == "running") {
    say(o.source.path + " is backed up on by its daemon; to end that: cffs backup --stop " + o.source.path);
    return StopSignals::exit_code();
  }
  return finish(o, report);
}

Result<int> on_store(const BackupFlags& o) {
  if (o.stop || o.status)
    return fail(
        Error::usage(o.source.path + " is not mounted: nobody makes a backup of it in the background"));
  CFFS_TRY(const std::string place, absolute_place(o.place));
  StoreName source = o.source;
  auto opened = open_store_for_reading(source);
  if (!opened) return fail(with_remount(std::move(opened.error()), o.named));
  const OpenStore store = std::move(*opened);
  const EndingSignals signals(
      "it was interrupted; what was there before is as it was, and the same command begins anew");
  ProgressLine line;
  BackupJob job(*store.fs, BackupJob::Damages::in_status);  // whose log is what we say
  CFFS_TRY(const std::uint64_t rate, parse_size(o.rate, "--rate"));
  CFFS_TRY_VOID(job.request(nlohmann::json{{"place", place}, {"rate", rate}}.dump()));
  for (;;) {
    const Json report = Json::parse(job.status_json());
    line.clear();
    if (report.at("state") == "running") {
      line.show(backup_counts(report));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    for (const auto& sentence : report.at("damages")) {
      if (!o.json) fmt::print("{}\n", sentence.get<std::string>());
    }
    if (report.at("state") == "failed" && report.at("damaged") == 0)
      return fail(Error::usage(report.value("error", "")));
    return finish(o, report);
  }
}

Result<int> run_backup(BackupFlags o) {
  if (!o.stop && !o.status) CFFS_TRY_VOID(absolute_place(o.place));
  CFFS_TRY_VOID(parse_size(o.rate, "--rate"));
  CFFS_TRY_VOID(check_there(o.source.path));
  o.named = o.source.path;
  o.source.path = store_to_ask(o.source.path);
  return mount_attribute(o.source.path, kBackupXattr).empty() ? on_store(o) : on_mount(o);
}

}  // namespace

std::string store_to_ask(const std::string& path) {
  struct statvfs v;
  const auto mount = mounted_at(path);
  if (!mount || !mount->is_cffs() || ::statvfs(path.c_str(), &v) != 0) return path;
  return (v.f_flag & ST_RDONLY) != 0 ? mount->source : path;
}

Error with_remount(Error error, const std::string& path) {
  const std::string store = store_to_ask(path);
  const auto mount = mounted_at(path);
  if (error.errno_value != EBUSY || store == path || !mount || mount->follows()) return error;
  return Error::usage(fmt::format(
      "{} was made read-only by a remount: its daemon has the store for writing yet, and can be asked for "
      "nothing; unmount it, or make it one that can: cffs mount -o remount,rw {} {}",
      path, store, path));
}

bool is_mount_root(const std::string& path) { return !mount_attribute(path, kBackupXattr).empty(); }

Result<bool> back_up_mount(const std::string& mount, const std::string& place) {
  CFFS_TRY_VOID(check_outside(mount, place));
  CFFS_TRY_VOID(ask_for_backup(mount, {{"place", place}}));
  CFFS_TRY(Json report, watch_backup(mount, true, false));
  if (StopSignals::came() && report.at("state") == "running") {
    CFFS_TRY_VOID(ask_for_backup(mount, {{"stop", true}}));
    // Until the daemon writes there no more.
    for (auto status = report; status.is_object() && status.value("state", "") == "running";) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      status = Json::parse(mount_attribute(mount, kBackupXattr), nullptr, false);
    }
    return fail(EINTR, "the copy of " + mount);
  }
  for (const auto& sentence : report.at("damages")) say(sentence.get<std::string>());
  if (report.at("state") == "done")
    return report.value("rows_damaged", report.at("damaged").get<std::uint64_t>()) == 0;
  return fail(Error::usage("the copy of " + mount + " was " + report.at("state").get<std::string>()));
}

void add_backup(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "backup",
      "Copy a store as it is at one moment, while it is in use; again, and only what changed is copied");
  auto o = std::make_shared<BackupFlags>();
  add_store_argument(*command, "STORE|MNT", o->source,
                     "Store, or where it is mounted: its daemon does it then")
      ->required();
  auto* place = command->add_option(
      "DEST", o->place, "Directory of the backup: none yet, an empty one, or the one of the backup before");
  auto* rate = command->add_option("--rate", o->rate, "Bytes per second, such as 20M; 0: as fast as it goes")
                   ->capture_default_str();
  auto* stop = command->add_flag("--stop", o->stop, "Stop the one of a mount; the backup before stays")
                   ->excludes(place)
                   ->excludes(rate);
  command->add_flag("--status", o->status, "Say how far the one of a mount is, or how the last one ended")
      ->excludes(stop)
      ->excludes(place)
      ->excludes(rate);
  command->add_flag("--json", o->json, "For programs");
  command->footer(
      "The backup is a store like any other: mount it, check it, export it. It takes the place of the one "
      "before when it is\n"
      "whole; until then, and whatever ends it early, that one is there as it was. One that was mounted for "
      "writing is not\n"
      "replaced. A mount's goes on when this command is interrupted.\n"
      "Exit code: 0 all is copied, 4 something in the store is damaged (one line each), 8 it could not run.");
  command->callback([o, &exit_code] {
    const auto done = run_backup(*o);
    exit_code = done ? *done : complain(done.error(), kCouldNotRun);
  });
}

}  // namespace cffs::cli
