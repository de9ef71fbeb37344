#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/commands.h"
#include "cli/help_formatter.h"
#include "cli/stop_signals.h"
#include "cli/temporary_place.h"
#include "cli/transfer_places.h"
#include "cli/transfer_progress.h"
#include "core/backend/store_place.h"
#include "core/plan/plan_coverage.h"
#include "core/rados/address.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/policy_adoption.h"
#include "core/reorganise/regrouping.h"
#include "core/transfer/archive_import.h"
#include "core/transfer/directory_destination.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/export.h"
#include "core/transfer/store_destination.h"
#include "fusefs/mount_table.h"
#include "fusefs/nested_places.h"

namespace cffs::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> sources;  // until they are told apart, and the store
  StoreName store;
  std::string to;
  std::vector<std::string> excludes;
  ImportRules rules;
  PolicyChoice policy;
  bool has_policy = false;
  unsigned jobs = std::max(2u, std::thread::hardware_concurrency());
  std::optional<MountEntry> mount;  // that it goes into
};

struct ExportOptions {
  StoreName store;
  std::string destination;
  std::vector<std::string> excludes;
  ImportRules rules;
};

// `went_on`: what the same command does after Ctrl-C.
template <typename Report>
int finish(const Report& report, const char* went_on) {
  say_problems(report.problems, report.failed);
  if (report.interrupted) {
    say(went_on);
    return StopSignals::exit_code();
  }
  return report.failed == 0 ? 0 : 1;
}

constexpr const char* kGoesOn = "it was interrupted; what has come stays, the same command goes on";
constexpr const char* kNothingWritten = "it was interrupted; nothing was written";

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::max(0.001, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

// Where it goes must not be a part of what comes; what is left out is none.
Status check_apart(const ImportOptions& o, const std::string& source) {
  if (RadosAddress::is_one(o.store.path)) return {};
  if (o.mount) CFFS_TRY_VOID(check_store_apart(*o.mount, source, Excludes(o.excludes)));
  const std::string place = o.mount ? o.store.path + "/" + o.to : o.store.path;
  if (o.rules.erase && o.mount && path_inside(source, place))
    return fail(Error::usage(fmt::format("{} lies in {}: --delete would take it away", source, place)));
  const auto inside = path_inside(place, source);
  if (!inside) return {};
  if (*inside == ".")
    return fail(Error::usage(fmt::format("{} and {} are the same directory", source, place)));
  if (is_left_out(Excludes(o.excludes), *inside, true)) return {};
  return fail(
      Error::usage(fmt::format("{} lies in {}: it would be imported into itself; leave it out with "
                               "--exclude=/{}",
                               (o.mount ? "" : "store ") + place, source, inside->string())));
}

// The last place is the store, or a mount of it, and a directory in it.
Status take_places(ImportOptions& o) {
  if (o.sources.size() < 2)
    return fail(Error::command_line("name what to import, and a store: cffs import SRC... STORE"));
  const StorePlace into = split_store_place(o.sources.back());
  o.sources.pop_back();
  o.store.path = into.store;
  if (into.has_path) {
    if (!o.to.empty())
      return fail(Error::command_line(
          "the directory that they come into is named twice: by --to and behind the colon"));
    o.to = into.path;
  }
  o.mount = cffs_mount_of(o.store.path);
  return {};
}

Status check_rules(const ImportRules& rules) {
  if (rules.erase && !rules.update) return fail(Error::command_line("--delete goes with --update"));
  return {};
}

Status check_places(const ImportOptions& o) {
  CFFS_TRY_VOID(check_rules(o.rules));
  if (o.rules.erase && o.sources.size() > 1)
    return fail(Error::command_line("--delete is for one source: what comes from another would go"));
  for (const std::string& source : o.sources) {
    struct stat st {};
    if (source != "-" && ::stat(source.c_str(), &st) != 0) return fail(errno, "source " + source);
    if (S_ISDIR(st.st_mode)) {
      CFFS_TRY_VOID(check_apart(o, source));
      continue;
    }
    if (o.rules.checksum)
      return fail(Error::command_line("--checksum compares directories; of an archive size and time tell"));
    if (o.rules.erase)
      return fail(Error::command_line("--delete is for a directory: " + source +
                                      " may hold a part of what is there"));
  }
  return {};
}

Status check_mount(const ImportOptions& o) {
  if (o.has_policy)
    return fail(Error::usage(fmt::format(
        "{} is mounted, and the daemon groups what comes, by the policy of the mount; to change that: cffs "
        "regroup --policy=P {}",
        o.mount->point, o.mount->point)));
  struct stat st {};
  if (::stat(o.store.path.c_str(), &st) != 0) return fail(errno, o.store.path);
  if (!S_ISDIR(st.st_mode)) return fail(ENOTDIR, o.store.path);
  struct statvfs fs {};
  if (::statvfs(o.store.path.c_str(), &fs) != 0) return fail(errno, o.store.path);
  if (o.mount->follows() || (fs.f_flag & ST_RDONLY) != 0)
    return fail(Error::usage(
        fmt::format("{} is mounted read-only: nothing can be imported into it", o.mount->point)));
  return {};
}

Status import_sources(const ImportOptions& o, ImportTarget& target) {
  CFFS_TRY_VOID(target.begin_at(o.to));
  for (const std::string& source : o.sources) {
    struct stat st {};
    const bool directory = source != "-" && ::stat(source.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
    const Status came = directory ? import_directory(source, target) : import_archive(source, target);
    if (o.rules.is_to_stop()) break;  // what it could not read then is no problem of it
    if (&source != &o.sources.back()) target.source_complete();
    if (came) continue;
    // Where it ended in the midst, what had come of it stays, and gets its attributes.
    if (!target.has_any()) return came;
    target.failed(came.error().message());
  }
  return {};
}

void say_left_over(std::uint64_t files) {
  if (files > 0)
    say(fmt::format("{} temporary file{} of imports or exports that were killed {} taken away", files,
                    files == 1 ? "" : "s", files == 1 ? "was" : "were"));
}

void say_changed_times(std::uint64_t files, const char* why) {
  if (files > 0)
    say(fmt::format("the times of {} file{} {}, and became the nearest that fit", files,
                    files == 1 ? "" : "s", why));
}

void print_summary(const ImportReport& r, double seconds) {
  fmt::print("imported {} files, {} directories, {} symlinks, {} hard links, {} special files, {}\n", r.files,
             r.directories, r.symlinks, r.links, r.specials, human_bytes(r.bytes));
  if (r.same + r.updated + r.removed > 0)
    fmt::print("of these {} replaced others; {} more were there already, {} were taken away; {:.1f} s\n",
               r.updated, r.same, r.removed, seconds);
  say_left_over(r.left_over);
  say_changed_times(r.times_changed, "are before 1677 or after 2262, which no store holds");
  if (r.out_of_room)
    say("there is no more room: the import ended here; with more, the same command goes on where it ended");
}

std::function<void(const ImportReport&)> shows(TransferProgress& progress) {
  return [&progress](const ImportReport& r) {
    progress.show({.files = r.files + r.symlinks + r.specials + r.links,
                   .bytes = r.bytes + r.under_way,
                   .known = r.same + r.failed,
                   .known_bytes = r.same_bytes,
                   .archive_bytes = r.archive_bytes});
  };
}

// By ordinary system calls, as those who use the mount meanwhile.
Result<int> import_into_mount(ImportOptions o) {
  CFFS_TRY_VOID(check_mount(o));
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));
  o.rules.stop = &StopSignals::flag();
  const auto began = std::chrono::steady_clock::now();
  CFFS_TRY(auto to, DirectoryDestination::at(o.store.path, false));
  ImportReport report;
  {
    TransferProgress progress(count_sources(o.sources, o.rules.excludes));
    ImportTarget target(std::move(to), o.jobs, shows(progress), o.rules);
    CFFS_TRY_VOID(import_sources(o, target));
    CFFS_TRY(report, target.finish());
  }
  print_summary(report, seconds_since(began));
  return finish(report, kGoesOn);
}

Result<int> run_import(ImportOptions o) {
  CFFS_TRY_VOID(take_places(o));
  PolicyChoice choice = o.policy;
  CFFS_TRY_VOID(check_choice(choice));
  CFFS_TRY_VOID(check_places(o));
  o.rules.excludes = Excludes(o.excludes);
  if (o.mount) return import_into_mount(o);
  const auto began = std::chrono::steady_clock::now();
  CFFS_TRY(const OpenStore store, open_store(o.store, choice));
  const StopSignals signals(StopSignals::not_ignored(kStopSignals));
  o.rules.stop = &StopSignals::flag();
  ImportReport report;
  std::optional<PlanCoverage> coverage;
  {
    TransferProgress progress(count_sources(o.sources, o.rules.excludes));
    Reorganiser reorganiser(*store.fs);  // gives back what was removed, where there is no more room
    // Who is not root cannot give files away, here as elsewhere: a mount of his would not let him write to them.
    ImportTarget target(std::make_unique<StoreDestination>(*store.fs, ::geteuid() == 0), o.jobs,
                        shows(progress), o.rules);
    CFFS_TRY_VOID(import_sources(o, target));
    CFFS_TRY(report, target.finish());
    // These two look at the whole tree: a page may embed what came before it, or comes much later. What their groups do
    // not concern lies by directory already and stays.
    if (choice.groups) {
      CFFS_TRY(coverage, plan_coverage(*choice.groups, *store.fs));
    }
    if (const auto policy = store.fs->policy(); policy->needs_paths() && !report.interrupted) {
      RegroupOptions regrouping;
      regrouping.stop = o.rules.stop;
      regrouping.on_progress = [&](WorkStep step) {
        step.what = "grouping, " + step.what;
        progress.line().show(step);
      };
      CFFS_TRY_VOID(adopt_policy(*store.fs, policy));  // its plan's files are there now
      CFFS_TRY_VOID(regroup(reorganiser, *store.fs->policy(), regrouping));
      report.interrupted = StopSignals::came();
    }
  }
  const std::uint64_t added = report.files + report.directories + report.symlinks + report.specials;
  if (!report.interrupted) catalogue_what_came(*store.fs, added, [] { return !StopSignals::came(); });
  CFFS_TRY_VOID(store.fs->close());
  print_summary(report, seconds_since(began));
  if (coverage) fmt::print("{}\n", coverage->sentence());
  return finish(report, kGoesOn);
}

// A store that is in use is exported as it was at one moment: from a copy of it (core/backup), which goes afterwards.
class MomentCopy {
 public:
  // Beside what is written, where the room is; for standard output where temporary files are.
  static Result<std::unique_ptr<MomentCopy>> of_mount(const std::string& mount,
                                                      const std::string& destination) {
    std::error_code problem;
    std::filesystem::path beside = destination == "-" ? std::filesystem::temp_directory_path(problem)
                                                      : std::filesystem::absolute(destination, problem);
    if (problem) return fail(problem.value(), destination);
    if (destination != "-") beside = (beside / "").lexically_normal().parent_path().parent_path();
    CFFS_TRY(auto place, TemporaryPlace::make(beside, ".cffs-export"));
    std::unique_ptr<MomentCopy> copy(new MomentCopy(std::move(place)));
    CFFS_TRY(copy->has_all_rows_, back_up_mount(mount, copy->store()));
    return copy;
  }
  std::string store() const { return place_->path() + "/store"; }
  // If not, it is as good as it can be, and nobody who reads it sees what it lacks.
  bool has_all_rows() const { return has_all_rows_; }

 private:
  explicit MomentCopy(std::unique_ptr<TemporaryPlace> place) : place_(std::move(place)) {}
  const std::unique_ptr<TemporaryPlace> place_;
  bool has_all_rows_ = true;
};

Status check_not_into_itself(const ExportOptions& o, const StorePlace& from) {
  if (RadosAddress::is_one(from.store)) return {};
  const bool mounted = is_mount_root(from.store) || cffs_mount_of(from.store);
  const auto inside = path_inside(o.destination, mounted ? from.store + "/" + from.path : from.store);
  const bool left_out = inside && mounted && *inside != "." && is_left_out(o.rules.excludes, *inside, true);
  if (!inside || left_out) return {};
  return fail(Error::usage(fmt::format("{} lies in {}: it would be exported into itself", o.destination,
                                       mounted ? from.name_of("") : from.store)));
}

Status check_export(const ExportOptions& o, const StorePlace& from, bool is_archive) {
  if (o.destination != "-") CFFS_TRY_VOID(check_outside_stores(o.destination));
  if (is_archive) {
    const char* const flag = o.rules.update     ? "--update"
                             : o.rules.checksum ? "--checksum"
                             : o.rules.erase    ? "--delete"
                                                : nullptr;
    if (flag != nullptr)
      return fail(Error::command_line(
          fmt::format("{} is for a directory: the archive {} is written anew, whole", flag,
                      o.destination == "-" ? "on standard output" : o.destination)));
    return {};
  }
  CFFS_TRY_VOID(check_rules(o.rules));
  CFFS_TRY_VOID(check_not_into_itself(o, from));
  return o.rules.erase ? check_not_erased(from.store, o.destination, o.rules.excludes) : Status();
}

Result<int> run_export(ExportOptions o) {
  const std::string& destination = o.destination;
  CFFS_TRY(const auto form, archive_form(destination));
  const StorePlace place = split_store_place(o.store.path);
  o.rules.excludes = Excludes(o.excludes);
  CFFS_TRY_VOID(check_export(o, place, form.has_value()));
  StoreName store_name{store_to_ask(place.store), o.store.foreign_owner};
  std::unique_ptr<MomentCopy> copy;
  std::optional<StopSignals> signals;
  if (is_mount_root(store_name.path)) {
    signals.emplace(StopSignals::not_ignored(kStopSignals));  // the copy is to go again
    auto made = MomentCopy::of_mount(store_name.path, destination);
    if (!made && StopSignals::came()) {
      say(kNothingWritten);
      return StopSignals::exit_code();
    }
    CFFS_TRY(copy, std::move(made));
    if (!copy->has_all_rows() && o.rules.update)
      return fail(Error::usage(fmt::format(
          "rows of {} cannot be read: by {} what is missing of it would be taken away in {}, and what is "
          "older would replace what is there; nothing was changed. Without, what is not there yet comes; "
          "cffs fsck "
          "says more",
          place.store, o.rules.erase ? "--update --delete" : "--update", destination)));
    store_name = {copy->store(), true};  // the daemon's, who may be another
  }
  auto opened = open_store_for_reading(store_name);
  if (!opened) return fail(with_remount(std::move(opened.error()), place.store));
  const OpenStore store = std::move(*opened);
  if (!signals) signals.emplace(StopSignals::not_ignored(kStopSignals));
  o.rules.stop = &StopSignals::flag();
  ExportReport report;
  {
    TransferProgress progress(count_tree(*store.fs, place.path, o.rules.excludes));
    const auto show = [&](const ExportReport& r) {
      progress.show(
          {.files = r.files, .bytes = r.bytes, .known = r.same + r.failed, .known_bytes = r.same_bytes});
    };
    const unsigned jobs = std::max(2u, std::thread::hardware_concurrency());
    CFFS_TRY(report, form ? export_archive(*store.fs, place.path, destination, *form, o.rules, show)
                          : export_directory(*store.fs, place.path, destination, o.rules, jobs, show));
  }
  CFFS_TRY_VOID(store.fs->close());
  if (copy && !copy->has_all_rows())
    report.fail("rows of " + place.store +
                " cannot be read: files may be missing, or as they were earlier; cffs fsck says more");
  if (form && report.interrupted) return finish(report, kNothingWritten);
  fmt::print(stderr, "exported {} files, {} directories, {}\n", report.files, report.directories,
             human_bytes(report.bytes));
  if (report.same + report.updated + report.removed > 0)
    fmt::print(stderr, "of these {} replaced others; {} more were there already, {} were taken away\n",
               report.updated, report.same, report.removed);
  say_left_over(report.left_over);
  say_changed_times(report.times_changed,
                    "are before 1970 or after 2106, which this kind of archive cannot have");
  if (report.attributes_lost > 0)
    say(fmt::format(
        "{} file{} extended attributes or access control lists, which this kind of archive cannot have; "
        "a tar has them",
        report.attributes_lost, report.attributes_lost == 1 ? " has" : "s have"));
  if (report.out_of_room)
    say("there is no more room: the export ended here; with more, the same command goes on where it ended");
  return finish(report, kGoesOn);
}

void add_rules(CLI::App& command, std::vector<std::string>& excludes, ImportRules& rules) {
  command
      .add_option("--exclude", excludes, "Leave out what this pattern matches, as rsync's; again for more")
      ->allow_extra_args(false);
  command.add_flag("--update", rules.update, "Replace files that differ; without, they are refused");
  command.add_flag("--checksum", rules.checksum,
                   "Files differ by what is in them, not by size and time of change");
  command.add_flag("--delete", rules.erase, "With --update: take away what is not in the source");
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("import", "Copy a directory or an archive into a store or a mount");
  auto o = std::make_shared<ImportOptions>();
  command->add_flag("--foreign-owner", o->store.foreign_owner,
                    "The store may belong to another user, who is trusted with what is in it");
  command->formatter(std::make_shared<ShownArgument>(*app.get_formatter(), "SRC", "SRC... STORE|MNT[:PATH]"));
  command
      ->add_option("SRC", o->sources,
                   "Directories, archives (tar or cpio, compressed or not, zip), - for one on stdin; and a "
                   "store, or where it is mounted, and a directory in it")
      ->required();
  command->add_option("--to", o->to, "Directory in the store that they come into; made if it is not there");
  add_rules(*command, o->excludes, o->rules);
  const auto policy_flags = add_policy_flags(*command, o->policy);
  command->add_option("--jobs", o->jobs, "Workers")->check(CLI::Range(1u, 256u))->capture_default_str();
  command->callback([o, policy_flags, &exit_code] {
    for (const CLI::Option* flag : policy_flags) o->has_policy = o->has_policy || flag->count() > 0;
    const auto done = run_import(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

void add_export(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("export", "Copy a store, or a directory in it, out again");
  auto o = std::make_shared<ExportOptions>();
  add_store_argument(
      *command, "STORE|MNT", o->store,
      "Store, or where it is mounted, and a directory in it; a mounted one is exported as it is at one "
      "moment, from a copy made beside DEST for as long")
      ->required();
  command->formatter(std::make_shared<ShownArgument>(*app.get_formatter(), "STORE|MNT", "STORE|MNT[:PATH]"));
  command
      ->add_option("DEST", o->destination,
                   "Directory, or archive by its name (.tar, .cpio, with .gz, .bz2, .xz, .zst; .zip), or - "
                   "for a tar on stdout")
      ->required();
  add_rules(*command, o->excludes, o->rules);
  command->callback([o, &exit_code] {
    const auto done = run_export(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
