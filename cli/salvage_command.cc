// salvage: a new store from the objects of one whose table is gone.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/backend/store_at.h"
#include "core/base/clock.h"
#include "core/fs/unfinished_format.h"
#include "core/inspect/row_names.h"
#include "core/object/store_use.h"
#include "core/rados/address.h"
#include "core/repair/salvage.h"
#include "fusefs/nested_places.h"

namespace cffs::cli {
namespace {

void tell(const SalvageReport& report, const std::string& from, const std::string& to) {
  // Names are whatever somebody called a file.
  for (const std::string& sentence : report.lost) fmt::print("{}\n", printable(sentence));
  for (const std::string& sentence : report.uncertain) fmt::print("{}\n", printable(sentence));
  fmt::print("{}: {} files, {}, are back in {}\n", from, report.files, human_bytes(report.bytes), to);
  if (report.older > 0) fmt::print("of {} of them only an earlier content was whole\n", report.older);
  if (report.removed > 0) fmt::print("{} files that had been removed are in /#removed\n", report.removed);
  if (report.names_ns) {
    const std::time_t at = to_timespec(*report.names_ns).tv_sec;
    fmt::print(
        "Names of {} directories and of all files are those of the catalogue, made {:%Y-%m-%d %H:%M:%S} UTC; "
        "what is newer may be without.\n",
        report.directories, fmt::gmtime(at));
    return;
  }
  fmt::print(
      "There is no catalogue that could be read: directories are called #NUMBER, large files #blobs/NUMBER, "
      "since their names "
      "were in the table, and so was the data of files that were in no composite yet. Files that had been "
      "removed may be "
      "back too.\n");
}

// What was killed there was to be such a store; where nothing was, a usual one.
Result<StoreFormat> format_for(const StoreName& name) {
  std::error_code error;
  if (!RadosAddress::is_one(name.path) && !std::filesystem::exists(name.path, error)) return StoreFormat();
  const auto objects = open_objects(name, PosixStore::Access::read_write);
  if (!objects) return StoreFormat();  // why, that says who makes it
  CFFS_TRY(const auto begun, FileSystem::begun_format(**objects));
  return begun.value_or(StoreFormat());
}

// A place that has nothing yet becomes a store, and so does what a salvage left that was killed; an empty store is as good. None for
// anybody else until it is whole.
Result<OpenStore> open_new_store(const std::string& path) {
  const StoreName name{path, false};
  bool is_there = is_store_at(path);
  CFFS_TRY(const StoreFormat wanted, format_for(name));
  if (is_there) {  // an image, or a place in a pool, may have no superblock
    CFFS_TRY(const auto objects, open_objects(name, PosixStore::Access::read_write));
    CFFS_TRY(is_there, objects->exists("superblock"));
    if (!is_there) CFFS_TRY_VOID(FileSystem::format(*objects, wanted, SystemClock()));
  } else {
    CFFS_TRY_VOID(make_store(name, wanted));
  }
  CFFS_TRY(OpenStore store, open_store(name));
  bool is_empty = true;
  CFFS_TRY_VOID(store.fs->readdir(kRootInode, 0, false, [&](const DirectoryEntry& entry) {
    is_empty = entry.name == "." || entry.name == "..";
    return is_empty;
  }));
  if (!is_empty) {
    CFFS_TRY_VOID(store.fs->close());
    return fail(Error::usage(path + " is a cffs store already, with files in it; it was left as it is"));
  }
  CFFS_TRY_VOID(set_superblock_aside(*store.objects));
  return store;
}

Result<int> run_salvage(const StoreName& from, const std::string& to) {
  if (path_inside(to, from.path))  // which may not look like a store any more
    return fail(Error::usage(to + " lies in the store " + from.path + "; name a place outside of it"));
  CFFS_TRY(const auto objects, open_objects(from, PosixStore::Access::read_only));
  CFFS_TRY(const auto composites, objects->list("composites"));
  CFFS_TRY(const auto blobs, objects->list("blobs"));
  CFFS_TRY(const bool catalogue, objects->exists(kCatalogueObject));
  if (composites.empty() && blobs.empty() && !catalogue) {
    return fail(
        Error::usage(from.path +
                     " has neither composites nor blobs, and no catalogue: there is nothing that could "
                     "come back"));
  }
  const auto lock = use_to_look(*objects);
  if (!lock) return fail(with_mount_points(lock.error(), from.path));
  const EndingSignals signals("it was interrupted; " + to +
                              " has a part of the files, and is no store; the same command begins anew");
  CFFS_TRY(const OpenStore store, open_new_store(to));
  ProgressLine progress;
  CFFS_TRY(const SalvageReport report,
           Salvage(*objects, *store.fs, [&](const std::string& text) { progress.show(text); }).run());
  progress.clear();
  CFFS_TRY_VOID(store.fs->close());
  CFFS_TRY_VOID(put_superblock_back(*store.objects));
  tell(report, from.path, to);
  return report.lost.empty() ? 0 : 4;
}

}  // namespace

void add_salvage(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("salvage",
                                     "Make a new store of what the catalogue, composites and blobs of one "
                                     "tell whose table or superblock is gone");
  auto from = std::make_shared<StoreName>();
  auto to = std::make_shared<std::string>();
  add_store_argument(*command, "STORE", *from, "The lost store; it is only read")->required();
  command
      ->add_option(
          "NEW", *to,
          "An empty directory, or an empty store, for the new one; a directory is made if it is not there")
      ->required();
  command->footer(
      "First try cffs fsck --repair, which keeps names wherever a part of the table can be read.\n"
      "Exit code: 0 all that was found is back, 4 some is not (one line each), 1 it could not run.");
  command->callback([from, to, &exit_code] {
    const auto done = run_salvage(*from, *to);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
