#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cli/commands.h"
#include "core/backend/store_at.h"
#include "core/fs/unfinished_format.h"
#include "core/rados/address.h"
#include "core/region/file_device.h"
#include "core/region/image_file.h"
#include "core/region/region_store.h"
#include "fusefs/mount_options.h"
#include "fusefs/nested_places.h"

namespace cffs::cli {
namespace {

struct FormatOptions {
  StoreName store;
  std::string inline_max = "4K", composite_file_max, composite_max;
  std::string blob_checksums = "on";
  std::string compress = "none";
  std::string backend = "posix";
  std::string size;  // of an image that is made
  std::string region_size, large_block = "512K";
  bool force = false;
  bool dedupe = false;
  std::string pool, pool_namespace, conf, id;  // of a cluster
};

// An image that is not there is made, sparse; one that was made here goes again where anything fails.
class Image {
 public:
  explicit Image(std::string path) : path_(std::move(path)) {}
  ~Image() {
    if (made_) (void)::unlink(path_.c_str());
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  Status prepare(const std::string& size) {
    struct stat st;
    const bool there = ::stat(path_.c_str(), &st) == 0;
    if (there && S_ISDIR(st.st_mode))
      return fail(
          Error::usage(path_ + " is a directory; --backend=region takes an image file or a block device"));
    if (size.empty() && (!there || (S_ISREG(st.st_mode) && st.st_size == 0)))
      return fail(Error::command_line("an image needs a size: --size=10G, say"));
    if (size.empty()) return {};
    CFFS_TRY(const std::uint64_t bytes, parse_size(size, "--size"));
    // One of that size may be what the same command left when it was killed.
    if (there && S_ISREG(st.st_mode) && static_cast<std::uint64_t>(st.st_size) == bytes) return {};
    if (there && (!S_ISREG(st.st_mode) || st.st_size != 0))
      return fail(Error::usage(path_ + " has a size already; leave --size away"));
    const FileDescriptor fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return fail(errno, path_);
    made_ = !there;
    // An empty file that is there keeps the attributes that somebody gave it.
    if (there && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return fail(errno, path_);
    return there ? Status() : make_image_of(fd.get(), path_, bytes);
  }
  void keep() { made_ = false; }

 private:
  const std::string path_;
  bool made_ = false;
};

// Regions with nothing in them, or with what a format left that was killed: they are made anew.
bool is_unfinished(const FileDevice& device, FileDevice::Owners owners) {
  auto again = FileDevice::open(device.description(), FileDevice::Access::read_only, owners);
  if (!again) return false;
  const auto objects = RegionStore::open(std::move(*again));
  return objects && check_formattable(**objects);
}

// What somebody else keeps there is not overwritten unasked.
Status check_empty(const FileDevice& device, FileDevice::Owners owners, bool force) {
  CFFS_TRY(const bool has_regions, RegionStore::is_store(device));
  if (has_regions && is_unfinished(device, owners)) return {};
  if (has_regions)
    return fail(Error::usage(device.description() + " is a cffs store already; it was left as it is"));
  CFFS_TRY(const bool is_blank, begins_blank(device));
  if (!force && !is_blank)
    return fail(Error::usage(device.description() + " holds something already; --force overwrites it"));
  return {};
}

Status make_region_store(const FormatOptions& o, const StoreFormat& format,
                         const RegionStore::Format& regions) {
  Image image(o.store.path);
  CFFS_TRY_VOID(image.prepare(o.size));
  const auto owners = o.store.foreign_owner ? FileDevice::Owners::anybody : FileDevice::Owners::own;
  CFFS_TRY(auto device, FileDevice::open(o.store.path, FileDevice::Access::read_write, owners));
  {
    const auto alone = device->lock(true);
    if (!alone && alone.error().errno_value == EBUSY && alone.error().kind == ErrorKind::os)
      return fail(Error::usage(o.store.path + " is in use; it was left as it is"));
    if (!alone) return fail(alone.error());
    CFFS_TRY_VOID(check_empty(*device, owners, o.force));
    CFFS_TRY_VOID(RegionStore::format(*device, regions));
  }
  CFFS_TRY(const auto objects, RegionStore::open(std::move(device)));
  CFFS_TRY_VOID(FileSystem::format(*objects, format, SystemClock()));
  image.keep();
  return {};
}

bool names_a_cluster(const FormatOptions& o) {
  return !(o.pool.empty() && o.pool_namespace.empty() && o.conf.empty() && o.id.empty());
}

// The address that --backend=rados and its options make of a name; an address is taken as it is.
Result<std::string> address_of(const FormatOptions& o) {
  if (RadosAddress::is_one(o.store.path)) {
    if (names_a_cluster(o))
      return fail(Error::command_line("an address says pool, namespace, user and configuration itself"));
    return o.store.path;
  }
  if (o.pool.empty())
    return fail(
        Error::command_line("--backend=rados needs --pool=POOL, or an address: rados:POOL/" + o.store.path));
  return RadosAddress{o.pool, o.pool_namespace, o.store.path, o.id, o.conf}.text();
}

Result<StoreFormat> format_of(const FormatOptions& o, bool in_a_pool) {
  CFFS_TRY(const Compression how, parse_compression(o.compress));
  StoreFormat wanted = usual_format(how);
  // With the records of its members a full composite is then one object of the pool, not one and a little of a second.
  if (in_a_pool && how.codec == Codec::stored) wanted.composite_max = 3840u << 10;
  CFFS_TRY(wanted.inline_max, parse_size(o.inline_max, "--inline-max"));
  if (!o.composite_max.empty()) {
    CFFS_TRY(wanted.composite_max, parse_size(o.composite_max, "--composite-max"));
  }
  if (!o.composite_file_max.empty()) {
    CFFS_TRY(wanted.composite_file_max, parse_size(o.composite_file_max, "--composite-file-max"));
  }
  CFFS_TRY_VOID(check_format(wanted));
  wanted.blob_checksums = o.blob_checksums == "on";
  wanted.dedupe = o.dedupe;
  return wanted;
}

Status format(const FormatOptions& o) {
  const bool by_regions = o.backend == "region";
  const bool in_a_pool = o.backend == "rados" || RadosAddress::is_one(o.store.path);
  if (by_regions && in_a_pool) return fail(Error::command_line("a store in a Ceph pool is --backend=rados"));
  if (!in_a_pool && names_a_cluster(o))
    return fail(Error::command_line("--pool, --namespace, --conf and --id are for --backend=rados"));
  const bool names_regions =
      !o.size.empty() || !o.region_size.empty() || o.large_block != FormatOptions().large_block || o.force;
  if (!by_regions && names_regions)
    return fail(
        Error::command_line("--size, --region-size, --large-block and --force are for --backend=region"));
  CFFS_TRY(const StoreFormat wanted, format_of(o, in_a_pool));
  if (by_regions) CFFS_TRY_VOID(check_outside_stores(o.store.path));
  if (in_a_pool) {
    CFFS_TRY(const std::string address, address_of(o));
    CFFS_TRY_VOID(make_store({address, o.store.foreign_owner}, wanted));
    fmt::print("{}\n", address);
    return {};
  }
  if (!by_regions) return make_store(o.store, wanted);
  RegionStore::Format regions;
  if (!o.region_size.empty()) {
    CFFS_TRY(regions.region_bytes, parse_size(o.region_size, "--region-size"));
  }
  CFFS_TRY(regions.large_bytes, parse_size(o.large_block, "--large-block"));
  if (regions.large_bytes % region::kBlock != 0 || regions.region_bytes % region::kBlock != 0)
    return fail(Error::command_line("--large-block and --region-size are multiples of 4K"));
  return make_region_store(o, wanted, regions);
}

}  // namespace

Status make_store(const StoreName& store, const StoreFormat& format) {
  const std::string& directory = store.path;
  if (RadosAddress::is_one(directory)) {
    CFFS_TRY_VOID(make_rados_store(directory));
    CFFS_TRY(const auto objects, open_objects(store, PosixStore::Access::read_write));
    return FileSystem::format(*objects, format, SystemClock());
  }
  CFFS_TRY_VOID(check_outside_stores(directory));
  struct stat st;
  if (::stat(directory.c_str(), &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))) {
    if (is_store_at(directory))
      return fail(Error::usage(directory + " is a cffs store already; it was left as it is"));
    return fail(Error::usage(
        directory + " is no directory; --backend=region makes a store of an image file or a device"));
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(error.value(), "store " + directory);
  if (std::filesystem::exists(directory + "/superblock", error)) {
    return fail(Error::usage(directory + " is a cffs store already; it was left as it is"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    if (name != "lost+found" && !is_store_name(name)) {  // of the others FileSystem::format judges
      return fail(
          Error::usage(directory + " is not empty (" + name + "); give an empty directory for the store"));
    }
  }
  if (error) return fail(error.value(), "store " + directory);
  CFFS_TRY(const auto objects, open_objects(store, PosixStore::Access::read_write));
  return FileSystem::format(*objects, format, SystemClock());
}

void add_format(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("format", "Make a new, empty store");
  auto o = std::make_shared<FormatOptions>();
  add_store_argument(
      *command, "STORE", o->store,
      "Directory; made if it is not there. Backend region: image file or block device; backend rados: a "
      "name, or an address rados:POOL/NAME")
      ->required();
  command
      ->add_option("--inline-max", o->inline_max,
                   "Largest file kept in the table for good (policy none; one that has bytes and grows: "
                   "four times)")
      ->capture_default_str();
  command->add_option(
      "--composite-file-max", o->composite_file_max,
      "Largest member of a composite; by default 1M, where it is compressed 128M. Files above 32M become "
      "members only where compressing them saves a quarter");
  command->add_option("--composite-max", o->composite_max,
                      "Size at which a composite is full; by default 4M, in a pool 3840K, where it is "
                      "compressed 8M; a member that is larger is alone in one");
  command
      ->add_option("--compress", o->compress,
                   "How composites are compressed: zstd[:LEVEL], lz4, none; cffs regroup changes it")
      ->capture_default_str();
  command->add_flag("--dedupe", o->dedupe,
                    "Small files with the same content share it; cffs regroup changes it");
  command
      ->add_option("--blob-checksums", o->blob_checksums,
                   "Checksums of large files, made once they are quiet: on or off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command
      ->add_option(
          "--backend", o->backend,
          "Where objects are kept: posix (files below STORE), region (STORE is an image file or a block "
          "device, and needs no file system below) or rados (STORE is a name in a pool of a Ceph cluster)")
      ->check(CLI::IsMember({"posix", "region", "rados"}))
      ->capture_default_str();
  command->add_option("--size", o->size, "Backend region: bytes of an image file that is made");
  command->add_option("--region-size", o->region_size,
                      "Backend region: bytes of a region; by default 16M to 256M, by the device's size");
  command->add_option("--large-block", o->large_block, "Backend region: bytes of a large block")
      ->capture_default_str();
  command->add_flag("--force", o->force,
                    "Backend region: overwrite what is there, unless it is a cffs store");
  command->add_option("--pool", o->pool, "Backend rados: the pool, which is there");
  command->add_option("--namespace", o->pool_namespace, "Backend rados: a namespace of the pool");
  command->add_option("--conf", o->conf, "Backend rados: Ceph's configuration file; by default its own");
  command->add_option("--id", o->id, "Backend rados: the Ceph user, without client.; by default admin");
  command->callback([o, &exit_code] {
    if (const Status done = format(*o); !done) exit_code = complain(done.error());
  });
}

}  // namespace cffs::cli
