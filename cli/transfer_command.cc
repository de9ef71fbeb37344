#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "cli/commands.h"
#include "core/plan/plan_coverage.h"
#include "core/rados/address.h"
#include "core/reorganise/policy_adoption.h"
#include "core/reorganise/regrouping.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/export.h"
#include "core/transfer/tar_import.h"
#include "fusefs/mount_table.h"

namespace cffs::cli {
namespace {

struct ImportOptions {
  std::string source;
  StoreName store;
  PolicyChoice policy;
  unsigned jobs = std::max(2u, std::thread::hardware_concurrency());
};

template <typename Report>
int finish(const Report& report) {
  for (const std::string& problem : report.problems) std::fprintf(stderr, "cffs: %s\n", problem.c_str());
  if (report.failed > report.problems.size()) {
    std::fprintf(stderr, "cffs: ... and %zu more\n",
                 static_cast<std::size_t>(report.failed) - report.problems.size());
  }
  return report.failed == 0 ? 0 : 1;
}

Result<int> run_import(const ImportOptions& o) {
  struct stat st {};
  if (o.source != "-" && ::stat(o.source.c_str(), &st) != 0) return fail(errno, "source " + o.source);
  if (const auto mount = cffs_mount_of(o.store.path)) {
    return fail(Error::usage(fmt::format(
        "{} is in the mount of store {}: unmount it and import into the store, or copy with `cp -a` or rsync",
        o.store.path, mount->source)));
  }
  PolicyChoice choice = o.policy;
  CFFS_TRY_VOID(check_choice(choice));
  CFFS_TRY(const OpenStore store, open_store(o.store, choice));
  ImportReport report;
  std::optional<PlanCoverage> coverage;
  {
    ProgressLine progress;
    Reorganiser reorganiser(*store.fs);  // gives back what was removed, where there is no more room
    ImportTarget target(*store.fs, o.jobs, [&](const ImportReport& r) {
      progress.show(fmt::format("{} files, {}", r.files, human_bytes(r.bytes)));
    });
    CFFS_TRY_VOID(S_ISDIR(st.st_mode) ? import_directory(o.source, target) : import_tar(o.source, target));
    CFFS_TRY(report, target.finish());
    // These two look at the whole tree: a page may embed what came before it, or comes much later. What their groups do
    // not concern lies by directory already and stays.
    if (choice.groups) {
      CFFS_TRY(coverage, plan_coverage(*choice.groups, *store.fs));
    }
    if (const auto policy = store.fs->policy(); policy->needs_paths()) {
      RegroupOptions regrouping;
      regrouping.on_progress = [&](const std::string& text) { progress.show("grouping: " + text); };
      CFFS_TRY_VOID(adopt_policy(*store.fs, policy));  // its plan's files are there now
      CFFS_TRY_VOID(regroup(reorganiser, *store.fs->policy(), regrouping));
    }
  }
  CFFS_TRY_VOID(store.fs->close());
  fmt::print("imported {} files, {} directories, {} symlinks, {} hard links, {} special files, {}\n",
             report.files, report.directories, report.symlinks, report.links, report.specials,
             human_bytes(report.bytes));
  if (coverage) fmt::print("{}\n", coverage->sentence());
  return finish(report);
}

bool is_archive(const std::string& name) {
  for (const char* suffix : {".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst"}) {
    if (name.ends_with(suffix)) return true;
  }
  return name == "-";
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
    std::string made = beside / ".cffs-export.XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) return fail(errno, made);
    std::unique_ptr<MomentCopy> copy(new MomentCopy(made));
    CFFS_TRY_VOID(back_up_mount(mount, copy->store()));
    return copy;
  }
  ~MomentCopy() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  MomentCopy(const MomentCopy&) = delete;
  MomentCopy& operator=(const MomentCopy&) = delete;
  std::string store() const { return folder_ + "/store"; }

 private:
  explicit MomentCopy(std::string folder) : folder_(std::move(folder)) {}
  const std::string folder_;
};

Result<int> run_export(const StoreName& from, const std::string& destination) {
  // STORE or STORE:PATH; a directory whose name holds a colon is taken as it is.
  StoreName store_name = from;
  std::string path;
  struct stat st;
  if (RadosAddress::is_one(from.path)) {  // its own colons are not followed by a slash
    const std::size_t colon = from.path.rfind(":/");
    store_name.path = from.path.substr(0, colon);
    if (colon != std::string::npos) path = from.path.substr(colon + 2);
  } else if (::stat(from.path.c_str(), &st) != 0) {
    const std::size_t colon = from.path.rfind(':');
    if (colon != std::string::npos) {
      store_name.path = from.path.substr(0, colon);
      path = from.path.substr(colon + 1);
    }
  }
  store_name.path = store_to_ask(store_name.path);
  std::unique_ptr<MomentCopy> copy;
  if (is_mount_root(store_name.path)) {
    CFFS_TRY(copy, MomentCopy::of_mount(store_name.path, destination));
    store_name = {copy->store(), true};  // the daemon's, who may be another
  }
  CFFS_TRY(const OpenStore store, open_store_for_reading(store_name));
  CFFS_TRY(const ExportReport report, is_archive(destination)
                                          ? export_tar(*store.fs, path, destination)
                                          : export_directory(*store.fs, path, destination));
  CFFS_TRY_VOID(store.fs->close());
  fmt::print(stderr, "exported {} files, {} directories, {}\n", report.files, report.directories,
             human_bytes(report.bytes));
  return finish(report);
}

// CLI11 2.4 takes no ':' in the name of an argument; help shows it all the same.
class StoreWithPath : public CLI::Formatter {
 public:
  explicit StoreWithPath(const CLI::FormatterBase& like) { column_width(like.get_column_width()); }
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return positional && name == "STORE|MNT" ? "STORE|MNT[:PATH]" : name;
  }
};

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("import", "Copy a directory or a tar archive into a store");
  auto o = std::make_shared<ImportOptions>();
  command
      ->add_option("SRC", o->source, "Directory, tar archive (plain, gz, xz, zst), or - for a tar on stdin")
      ->required();
  add_store_argument(*command, "STORE", o->store, "Store that is not mounted")->required();
  add_policy_flags(*command, o->policy);
  command->add_option("--jobs", o->jobs, "Workers")->check(CLI::Range(1u, 256u))->capture_default_str();
  command->callback([o, &exit_code] {
    const auto done = run_import(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

void add_export(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("export", "Copy a store, or a directory in it, out again");
  auto from = std::make_shared<StoreName>();
  auto destination = std::make_shared<std::string>();
  add_store_argument(
      *command, "STORE|MNT", *from,
      "Store, or where it is mounted, and a directory in it; a mounted one is exported as it is at one "
      "moment, from a copy made beside DEST for as long")
      ->required();
  command->formatter(std::make_shared<StoreWithPath>(*app.get_formatter()));
  command
      ->add_option(
          "DEST", *destination,
          "Directory, or archive by its name (.tar, .tar.gz, .tar.xz, .tar.zst), or - for a tar on stdout")
      ->required();
  command->callback([from, destination, &exit_code] {
    const auto done = run_export(*from, *destination);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
