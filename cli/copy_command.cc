// copy: a whole store to another place, of whatever backend.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/backend/store_at.h"
#include "core/backup/store_copy.h"
#include "core/object/store_use.h"
#include "core/rados/address.h"
#include "core/region/file_device.h"
#include "core/region/image_file.h"
#include "core/region/region_store.h"
#include "fusefs/mount_options.h"
#include "fusefs/nested_places.h"

namespace cffs::cli {
namespace {

struct CopyFlags {
  StoreName from, to;
  std::string size;  // of an image that is made
};

// A file that was just made becomes an image of so many bytes, sparse, with regions and no objects.
Status make_image_in(FileDescriptor fd, const std::string& path, std::uint64_t bytes) {
  CFFS_TRY_VOID(make_image_of(fd.get(), path, bytes));
  fd.reset();
  CFFS_TRY(const auto device, FileDevice::open(path, FileDevice::Access::read_write));
  return RegionStore::format(*device, {});
}

// What is there is the image where it is as long, or has no bytes: the same command may have been killed.
Status go_on_with_image(const std::string& path, std::uint64_t bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  struct stat st;
  if (!fd || ::fstat(fd.get(), &st) != 0) return fail(errno, path);
  if (S_ISREG(st.st_mode) && st.st_size == 0) return make_image_in(std::move(fd), path, bytes);
  if (!S_ISREG(st.st_mode) || static_cast<std::uint64_t>(st.st_size) != bytes)
    return fail(Error::usage(path + " is there already; leave --size away"));
  fd.reset();
  CFFS_TRY(const auto device, FileDevice::open(path, FileDevice::Access::read_write));
  CFFS_TRY(const bool has_regions, RegionStore::is_store(*device));
  if (has_regions) return {};  // what is in them the copy judges
  CFFS_TRY(const auto alone, device->lock(true));
  CFFS_TRY(const bool is_blank, begins_blank(*device));
  if (!is_blank)
    return fail(Error::usage(path + " holds something that is no store; name another place for the copy"));
  return RegionStore::format(*device, {});
}

// Where that fails nothing is left that the next try would find in its way.
Status make_image(const std::string& path, const std::string& size) {
  CFFS_TRY(const std::uint64_t bytes, parse_size(size, "--size"));
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd && errno == EEXIST) return go_on_with_image(path, bytes);
  if (!fd) return fail(errno, path);
  const Status made = make_image_in(std::move(fd), path, bytes);
  if (!made) (void)::unlink(path.c_str());
  return made;
}

// The place for the copy: a directory or an address is made where it is not there, an image where its size is said.
Result<std::unique_ptr<ObjectStore>> place_of(const StoreName& to, const std::string& size) {
  if (RadosAddress::is_one(to.path)) {
    CFFS_TRY_VOID(is_store_at(to.path) ? renew_rados_store(to.path) : make_rados_store(to.path));
    return open_objects(to, PosixStore::Access::read_write);
  }
  if (!size.empty()) {
    CFFS_TRY_VOID(make_image(to.path, size));
    return open_objects(to, PosixStore::Access::read_write);
  }
  struct stat st;
  if (::stat(to.path.c_str(), &st) != 0) {
    std::error_code problem;
    std::filesystem::create_directories(to.path, problem);
    if (problem) return fail(problem.value(), "store " + to.path);
  }
  return open_objects(to, PosixStore::Access::read_write);
}

// It would be read and written at once.
Status check_other_place(const std::string& from, const std::string& to) {
  const bool in_pools = RadosAddress::is_one(from) || RadosAddress::is_one(to);
  struct stat source, place;
  const bool same = in_pools ? from == to
                             : ::stat(from.c_str(), &source) == 0 && ::stat(to.c_str(), &place) == 0 &&
                                   source.st_dev == place.st_dev && source.st_ino == place.st_ino;
  if (same) return fail(Error::command_line(to + " is the store itself; name another place for the copy"));
  CFFS_TRY_VOID(check_outside_stores(to));
  if (in_pools || !path_inside(to, from)) return {};  // an unfinished copy is no store yet
  return fail(Error::usage(to + " lies in the store " + from + "; name a place outside of it"));
}

Status run_copy(const CopyFlags& o) {
  if (!o.size.empty()) CFFS_TRY_VOID(parse_size(o.size, "--size"));
  if (!o.size.empty() && RadosAddress::is_one(o.to.path))
    return fail(Error::command_line("--size is for an image file; " + o.to.path + " is in a pool"));
  CFFS_TRY_VOID(check_other_place(o.from.path, o.to.path));
  CFFS_TRY(const auto from, open_objects(o.from, PosixStore::Access::read_only));
  CFFS_TRY(const bool is_store, from->exists("superblock"));
  if (!is_store) return fail(Error::usage(o.from.path + " is no cffs store"));
  // Who has it in use is told before a place is made that nothing would come to.
  if (const auto unused = use_to_look(*from); !unused) return fail(unused.error());
  CFFS_TRY(const auto to, place_of(o.to, o.size));
  const EndingSignals signals("it was interrupted; " + o.to.path +
                              " is no whole copy, and no store; the same command goes on with it");
  StoreCopyReport report;
  {
    ProgressLine progress;
    StoreCopyOptions options;
    options.progress = [&](const StoreCopyReport& r) {
      progress.show(fmt::format("{} objects, {} read, {} written", r.objects, human_bytes(r.bytes),
                                human_bytes(r.bytes_written)));
    };
    CFFS_TRY(report, copy_store(*from, *to, options));
  }
  fmt::print("{} to {}: {} objects, {}; {} of them written, {}; {} removed\n", o.from.path, o.to.path,
             report.objects, human_bytes(report.bytes), report.written, human_bytes(report.bytes_written),
             report.removed);
  return {};
}

}  // namespace

void add_copy(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "copy", "Copy a whole store to another place, of whatever backend; again, and what differs");
  auto o = std::make_shared<CopyFlags>();
  add_store_argument(*command, "STORE", o->from, "The store; nobody uses it meanwhile")->required();
  command
      ->add_option("PLACE", o->to.path,
                   "A directory or an address in a Ceph pool, which are made where they are not there, or an "
                   "earlier copy of it")
      ->required();
  command->add_option("--size", o->size, "Bytes of an image file that is made for the copy (backend region)");
  command->footer(
      "The copy is that store, byte for byte; what was written is read back. Copies of a store that is "
      "mounted: cffs backup.\n"
      "An unfinished copy is no store; the same command goes on with it.");
  command->callback([o, &exit_code] {
    if (const Status done = run_copy(*o); !done)
      exit_code = complain(with_mount_points(done.error(), o->from.path));
  });
}

}  // namespace cffs::cli
