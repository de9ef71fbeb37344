#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bench/suite/session.h"
#include "cli/commands.h"
#include "core/backend/store_at.h"
#include "core/base/printable.h"
#include "core/rados/address.h"
#include "core/reorganise/policy_adoption.h"
#include "fusefs/mount_table.h"

namespace cffs::cli {

// It may have names in it, which a terminal must not obey.
void say(const std::string& line) {
  const std::string shown = ::isatty(STDERR_FILENO) == 1 ? printable(line) : line;
  std::fprintf(stderr, "cffs: %s\n", shown.c_str());
}

int complain(const Error& error, int failed) {
  say(error.message());
  return error.of_command_line ? kWrongCommandLine : failed;
}

void say_problems(const std::vector<std::string>& problems, std::uint64_t failed) {
  for (const std::string& problem : problems) say(problem);
  if (failed > problems.size()) say(fmt::format("... and {} more", failed - problems.size()));
}

CLI::Option* add_store_argument(CLI::App& command, const std::string& name, StoreName& store,
                                const std::string& text) {
  command.add_flag("--foreign-owner", store.foreign_owner,
                   "The store may belong to another user, who is trusted with what is in it");
  return command.add_option(name, store.path, text);
}

Status check_there(const std::string& place) {
  struct stat st;
  if (!RadosAddress::is_one(place) && ::stat(place.c_str(), &st) != 0) return fail(errno, place);
  return {};
}

Result<std::unique_ptr<ObjectStore>> open_objects(const StoreName& store, PosixStore::Access access) {
  if (const auto mount = cffs_mount_of(store.path)) {
    const bool foreign = ::geteuid() != 0 && mount->user && *mount->user != ::geteuid();
    return fail(Error::usage(fmt::format(
        "{} is in the mount of store {}{}", store.path, mount->source,
        foreign ? "; only who mounted it, or root, may ask its daemon"
        : store.path == mount->point
            ? "; unmount it, then name the store"
            : fmt::format("; name the mount, {}, or unmount it and name the store", mount->point))));
  }
  using Owners = PosixStore::Owners;
  auto objects = open_store_at(store.path, access, store.foreign_owner ? Owners::anybody : Owners::own);
  if (!objects && objects.error().kind == ErrorKind::os && !RadosAddress::is_one(store.path)) {
    const int problem = objects.error().errno_value;
    if (problem != ENOENT) return fail(problem, "store " + store.path);
    Error none = Error::usage("store " + store.path + " is not there; cffs format makes one");
    none.errno_value = ENOENT;
    return fail(std::move(none));
  }
  return objects;
}

Error with_mount_points(Error error, const std::string& store) {
  const std::vector<std::string> points = mount_points_of(store);
  if (error.errno_value == EBUSY && !points.empty())
    error.context += fmt::format("; it is mounted on {}", fmt::join(points, ", "));
  return error;
}

namespace {

Result<OpenStore> open_with(const StoreName& store, PosixStore::Access access,
                            bool keep_what_is_whole = false) {
  OpenStore open;
  CFFS_TRY(open.objects, open_objects(store, access));
  FileSystemOptions options;
  options.background = false;
  options.read_only = access == PosixStore::Access::read_only;
  options.keep_what_is_whole = keep_what_is_whole;
  if (!keep_what_is_whole) options.log = say;
  auto opened = FileSystem::open(*open.objects, options);
  if (!opened) return fail(with_mount_points(std::move(opened.error()), store.path));
  open.fs = std::move(*opened);
  return open;
}

}  // namespace

std::string mount_attribute(const std::string& path, const char* name) {
  std::string text(64 * 1024, '\0');
  const ssize_t n = ::getxattr(path.c_str(), name, text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

Result<OpenStore> open_store_for_reading(const StoreName& store) {
  return open_with(store, PosixStore::Access::read_only);
}

Result<OpenStore> open_store_for_check(const StoreName& store) {
  return open_with(store, PosixStore::Access::read_only, true);
}

Result<OpenStore> open_store(const StoreName& store, PolicyChoice policy) {
  CFFS_TRY_VOID(check_choice(policy));
  CFFS_TRY(OpenStore open, open_with(store, PosixStore::Access::read_write));
  CFFS_TRY(auto chosen, choose_policy(*open.objects, policy));
  if (policy.groups) {
    CFFS_TRY_VOID(adopt_policy(*open.fs, std::move(chosen)));
  } else {
    open.fs->set_policy(std::move(chosen));
  }
  return open;
}

Status apart_from(const std::string& output, const std::vector<std::string>& inputs) {
  struct stat out, in;
  if (output.empty() || ::stat(output.c_str(), &out) != 0 || !S_ISREG(out.st_mode)) return {};
  for (const std::string& input : inputs) {
    if (::stat(input.c_str(), &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
      return fail(
          Error::usage(output + " is what is read, and would be overwritten; name another file to write"));
  }
  return {};
}

CLI::Validator between(double least, double most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return {};
        return fmt::format("Value {} not in range {} to {}", text, least, most);
      },
      fmt::format("FLOAT in [{} - {}]", least, most));
}

std::vector<CLI::Option*> add_policy_flags(CLI::App& command, PolicyChoice& choice) {
  return {
      command.add_option("--policy", choice.name, "How small files are grouped: " + grouping::policy_names())
          ->capture_default_str(),
      command.add_option("--plan", choice.plan,
                         "Policy frequency: groups made by cffs analyze; else those the store keeps"),
      command.add_option("--site-root", choice.site_root,
                         "Policy reference: where URLs that begin with / start, a directory in the store"),
      command
          .add_option("--depth", choice.depth,
                      "Policy reference: how far references are followed; 1: immediate ones")
          ->check(CLI::Range(1u, 64u))
          ->capture_default_str(),
      command
          .add_option(
              "--shared", choice.shared,
              "Policy reference: files that so many documents embed go to a group of their own; 0: never")
          ->capture_default_str()};
}

void add_plan_ahead_flag(CLI::App& command, bool& ahead) {
  command.add_flag("--plan-ahead", ahead,
                   "Take a plan although none of its files are in the store: they are to come");
}

void add_quiet_flags(CLI::App& program) {
  const auto add = [](CLI::App* command) {
    command->add_flag_callback(
        "--quiet", [] { ProgressLine::silence(); }, "Show no progress");
  };
  for (const char* const name : {"import", "export", "regroup", "compact", "fsck", "scrub", "backup", "copy",
                                 "salvage", "advise", "analyze", "evaluate", "replay", "compare"})
    add(program.get_subcommand(name));
  CLI::App* const bench = program.get_subcommand("bench");
  for (const bench::Benchmark& benchmark : bench::benchmarks()) add(bench->get_subcommand(benchmark.name));
  add(bench->get_subcommand("paper"));
  add(program.get_subcommand("trace")->get_subcommand("import"));
}

}  // namespace cffs::cli
