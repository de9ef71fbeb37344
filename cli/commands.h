// The subcommands of cffs. Each adds itself to the program; what it returns through `exit_code` is the process's.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/human_bytes.h"
#include "cli/progress_line.h"
#include "core/fs/file_system.h"
#include "core/object/posix_store.h"
#include "core/plan/policy_choice.h"

namespace cffs::replay {
struct LoadOptions;
}

namespace cffs::cli {

void add_format(CLI::App& app, int& exit_code);
void add_mount(CLI::App& app, int& exit_code);
void add_umount(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_stat(CLI::App& app, int& exit_code);
void add_stats(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);
void add_fsck(CLI::App& app, int& exit_code);
void add_scrub(CLI::App& app, int& exit_code);
void add_backup(CLI::App& app, int& exit_code);
void add_copy(CLI::App& app, int& exit_code);
void add_salvage(CLI::App& app, int& exit_code);
void add_compact(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_ls(CLI::App& app, int& exit_code);
void add_cat(CLI::App& app, int& exit_code);
void add_find(CLI::App& app, int& exit_code);
void add_du(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_warm(CLI::App& app, int& exit_code);

void add_advise(CLI::App& app, int& exit_code);
void add_analyze(CLI::App& app, int& exit_code);
void add_spark_part(CLI::App& app, int& exit_code);
void add_manual(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_regroup(CLI::App& app, int& exit_code);
void add_evaluate(CLI::App& app, int& exit_code);
void add_replay(CLI::App& app, int& exit_code);
void add_trace(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_paper(CLI::App& bench, int& exit_code);  // below cffs bench
void add_compare(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);

// How fsck and scrub end, as e2fsck does: what was found is mended, is not, or could not be looked for.
enum CheckCode { kClean = 0, kMended = 1, kNotMended = 4, kCouldNotRun = 8 };
// How a command ends whose command line was wrong, whoever found that out: CLI11 before it began, or the command itself.
constexpr int kWrongCommandLine = 2;
// Prints "cffs: MESSAGE" on stderr; returns how the command ends: `failed`, but kWrongCommandLine where that was it.
int complain(const Error& error, int failed = 1);
// The same for what is no failure.
void say(const std::string& line);

// Lines about the first of so many things that failed, and how many more there are.
void say_problems(const std::vector<std::string>& problems, std::uint64_t failed);

// A store, or where it is mounted, as it was named on the command line.
struct StoreName {
  std::string path;
  bool foreign_owner = false;  // may be somebody else's
};
// The argument STORE (or STORE|MNT), and --foreign-owner.
CLI::Option* add_store_argument(CLI::App& command, const std::string& name, StoreName& store,
                                const std::string& text);

// A store opened by a command for itself: no background work.
struct OpenStore {
  OpenStore() = default;
  OpenStore(OpenStore&&) = default;
  // What was open here is closed before its objects go.
  OpenStore& operator=(OpenStore&& other) noexcept {
    fs = nullptr;
    objects = std::move(other.objects);
    fs = std::move(other.fs);
    return *this;
  }

  std::unique_ptr<ObjectStore> objects;
  std::unique_ptr<FileSystem> fs;
};
// A new store in this directory, which is made or is empty.
Status make_store(const StoreName& store, const StoreFormat& format);
// To look only: nothing on its medium changes, which may be read-only; several may look at a time.
Result<OpenStore> open_store_for_reading(const StoreName& store);
// The same for a check: a store whose log is damaged opens, too, with what is whole of it.
Result<OpenStore> open_store_for_check(const StoreName& store);
// Where a store is in use (EBUSY), which the error tells by a process: where it is mounted, too.
Error with_mount_points(Error error, const std::string& store);
// ENOENT and the like, where a path leads nowhere; an address in a Ceph pool is asked when it is opened.
Status check_there(const std::string& place);
// Its objects alone, for a command that opens the store itself.
Result<std::unique_ptr<ObjectStore>> open_objects(const StoreName& store, PosixStore::Access access);
// Its files are grouped by the policy from now on; one with a plan of its own brings that along.
Result<OpenStore> open_store(const StoreName& store, PolicyChoice policy = {});
// A virtual attribute of a mount's root (fusefs/operations.h); empty where there is none.
std::string mount_attribute(const std::string& path, const char* name);
// Of a read-only mount, which can be asked for nothing, its store; everything else as it is.
std::string store_to_ask(const std::string& path);
// What opening its store failed with, of whom `path` is what was named: a mount that became read-only by -o remount,ro, whose daemon is
// the store's writer yet, is told of as that.
Error with_remount(Error error, const std::string& path);
// Whether a store is mounted exactly there, and the caller may administer it.
bool is_mount_root(const std::string& path);
// A backup (core/backup) of the mounted store at this absolute path, by its daemon.
Result<bool> back_up_mount(const std::string& mount, const std::string& place);
// Refuses an output that is one of the inputs, by whatever name: writing it would destroy what is read. `output` empty: there is none.
Status apart_from(const std::string& output, const std::vector<std::string>& inputs);
// A number from `least` to `most`, both allowed. CLI::Range takes what is no number for one.
CLI::Validator between(double least, double most);
// --policy, --plan, --site-root, --depth, --shared.
// The result: all of them.
std::vector<CLI::Option*> add_policy_flags(CLI::App& command, PolicyChoice& choice);
// --plan-ahead.
void add_plan_ahead_flag(CLI::App& command, bool& ahead);

// --format, --below, --initial.
void add_trace_input_flags(CLI::App& command, replay::LoadOptions& load);

// --quiet, to each command that shows progress.
void add_quiet_flags(CLI::App& program);

}  // namespace cffs::cli
