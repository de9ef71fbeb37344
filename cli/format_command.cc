#include <filesystem>

#include "cli/commands.h"
#include "fusefs/mount_options.h"

namespace cffs::cli {
namespace {

struct FormatOptions {
  StoreName store;
  std::string inline_max = "4K", composite_file_max = "1M", composite_max = "4M";
  std::string blob_checksums = "on";
  std::string backend = "posix";
};

Status format(const FormatOptions& o) {
  if (o.backend != "posix") return fail(Error::usage("unknown backend '" + o.backend + "'; there is: posix"));
  StoreFormat wanted;
  CFFS_TRY(wanted.inline_max, parse_size(o.inline_max, "--inline-max"));
  CFFS_TRY(wanted.composite_file_max, parse_size(o.composite_file_max, "--composite-file-max"));
  CFFS_TRY(wanted.composite_max, parse_size(o.composite_max, "--composite-max"));
  CFFS_TRY_VOID(check_format(wanted));
  wanted.blob_checksums = o.blob_checksums == "on";
  return make_store(o.store, wanted);
}

}  // namespace

Status make_store(const StoreName& store, const StoreFormat& format) {
  const std::string& directory = store.path;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(error.value(), "store " + directory);
  if (std::filesystem::exists(directory + "/superblock", error)) {
    return fail(Error::usage(directory + " is a cffs store already; it was left as it is"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name != "lost+found") {
      return fail(
          Error::usage(directory + " is not empty (" + name + "); give an empty directory for the store"));
    }
  }
  if (error) return fail(error.value(), "store " + directory);
  CFFS_TRY(const auto objects, open_objects(store, PosixStore::Access::read_write));
  return FileSystem::format(*objects, format, SystemClock());
}

void add_format(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("format", "Make a new, empty store in an empty directory");
  auto o = std::make_shared<FormatOptions>();
  add_store_argument(*command, "STORE", o->store, "Directory; made if it is not there")->required();
  command
      ->add_option("--inline-max", o->inline_max,
                   "Largest file kept in the table for good (policy none; one that was durable before it "
                   "grew: four times)")
      ->capture_default_str();
  command->add_option("--composite-file-max", o->composite_file_max, "Largest member of a composite")
      ->capture_default_str();
  command->add_option("--composite-max", o->composite_max, "Size at which a composite is full")
      ->capture_default_str();
  command
      ->add_option("--blob-checksums", o->blob_checksums,
                   "Checksums of large files, made once they are quiet: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command->add_option("--backend", o->backend, "Where objects are kept: posix (files below STORE)")
      ->capture_default_str();
  command->callback([o, &exit_code] {
    if (const Status done = format(*o); !done) exit_code = complain(done.error());
  });
}

}  // namespace cffs::cli
