#include "bench/rig/image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mntent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "bench/disk/slow_disk.h"
#include "bench/rig/loop_device.h"

namespace cffs::bench {
namespace {

constexpr int kTries = 200;
constexpr useconds_t kTryMicroseconds = 50'000;

std::vector<std::string> mounts_below(const std::string& directory) {
  std::vector<std::string> found;
  const std::unique_ptr<FILE, int (*)(FILE*)> table(::setmntent("/proc/self/mounts", "r"), ::endmntent);
  while (const mntent* entry = table ? ::getmntent(table.get()) : nullptr) {
    const std::string point = entry->mnt_dir;
    if (point == directory || point.starts_with(directory + "/")) found.push_back(point);
  }
  return found;
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs v;
  return ::statvfs(directory.c_str(), &v) == 0 ? std::uint64_t{v.f_bavail} * v.f_frsize : 0;
}

}  // namespace

bool is_mount_point(const std::string& directory) {
  for (const std::string& point : mounts_below(directory)) {
    if (point == directory) return true;
  }
  return false;
}

Status unmount_patiently(const std::string& directory) {
  for (int i = 0;; ++i) {
    if (::umount2(directory.c_str(), 0) == 0 || errno == EINVAL) return {};
    if (errno != EBUSY || i == kTries) return fail(errno, directory);
    ::usleep(kTryMicroseconds);
  }
}

void unmount_below(const std::string& directory) {
  std::vector<std::string> points = mounts_below(directory);
  std::sort(points.begin(), points.end(), [](const std::string& a, const std::string& b) {
    return std::count(a.begin(), a.end(), '/') > std::count(b.begin(), b.end(), '/');
  });
  // Mounts on stores come before the file systems that the stores are on.
  std::stable_partition(points.begin(), points.end(),
                        [](const std::string& p) { return p.ends_with("/mnt"); });
  std::stable_partition(points.begin(), points.end(),
                        [](const std::string& p) { return !p.ends_with("/model"); });
  for (const std::string& point : points) {
    if (!unmount_patiently(point)) (void)::umount2(point.c_str(), MNT_DETACH);
  }
}

Result<std::unique_ptr<Image>> Image::make(const ImageOptions& options) {
  std::unique_ptr<Image> image(new Image(options));
  CFFS_TRY_VOID(image->build());
  return image;
}

Status Image::build() {
  mounted_ = options_.work + "/fs";
  (void)::mkdir(mounted_.c_str(), 0755);
  const std::string maker = "mkfs." + options_.type;
  const bool bare = options_.type.empty();
  if (!bare && !is_installed(maker)) {
    return fail(
        Error::usage(maker + " is not installed; scripts/install_packages.sh installs what benchmarks need"));
  }
  // A modelled disk keeps its bytes in memory where there is room, so that the model alone takes time.
  const bool in_memory = options_.disk != "raw" && free_bytes("/dev/shm") > options_.bytes / 2;
  file_ = in_memory ? fmt::format("/dev/shm/cffs-bench-{}-{}.img", ::getpid(),
                                  std::hash<std::string>()(options_.work))
                    : options_.work + "/image";
  // Others can know the name, and may have put a link there.
  if (in_memory) (void)::unlink(file_.c_str());
  const int how = in_memory ? O_EXCL : O_TRUNC;
  const FileDescriptor file(::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | how, 0600));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(options_.bytes)) != 0) return fail(errno, file_);
  std::vector<std::string> make{maker, "-q"};
  const bool is_ext = options_.type.starts_with("ext");
  if (is_ext) make.insert(make.end(), {"-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"});
  constexpr std::uint64_t kUsual = 16384;  // bytes for which mkfs.ext4 makes an inode
  if (is_ext && options_.inodes > options_.bytes / kUsual)
    make.insert(make.end(), {"-N", std::to_string(options_.inodes)});
  if (options_.type == "xfs") make.insert(make.end(), {"-f"});
  // As in TableFS §4.1: neither a second copy of metadata nor checksums, which the others do not have either.
  if (options_.type == "btrfs") make.insert(make.end(), {"-f", "-m", "single", "-d", "single"});
  make.push_back(file_);
  if (!bare) CFFS_TRY_VOID(run(make));
  if (options_.disk != "raw") CFFS_TRY_VOID(serve_model());
  return mount();
}

Status Image::serve_model() {
  model_ = options_.work + "/model";
  (void)::mkdir(model_.c_str(), 0755);
  CFFS_TRY(server_,
           Server::start({own_program(), "bench", "disk", "--profile=" + options_.disk, file_, model_}));
  for (int i = 0; i < kTries; ++i) {
    if (is_mount_point(model_)) return {};
    if (!server_.is_running()) break;
    ::usleep(kTryMicroseconds / 5);
  }
  return fail(Error::usage("the model of disk " + options_.disk + " did not come up; is /dev/fuse there?"));
}

Status Image::attach() {
  CFFS_TRY(const LoopDevice loop, LoopDevice::over(below(), LoopDevice::Access::read_write));
  device_ = loop.path();
  device_number_ = loop.number();
  if (options_.type.empty()) {
    held_ = FileDescriptor(::open(device_.c_str(), O_RDONLY | O_CLOEXEC));
    return held_ ? Status() : fail(errno, device_);
  }
  // Mounted while the device is open: else it would be cleared again at once.
  const char* data = options_.type == "btrfs" ? "nodatasum" : nullptr;
  const unsigned long flags = MS_NOATIME | (options_.synchronous ? MS_SYNCHRONOUS | MS_DIRSYNC : 0);
  if (::mount(device_.c_str(), mounted_.c_str(), options_.type.c_str(), flags, data) != 0)
    return fail(errno, fmt::format("{} on {}", options_.type, device_));
  return {};
}

Status Image::mount() {
  CFFS_TRY_VOID(attach());
  is_mounted_ = true;
  return {};
}

Status Image::unmount() {
  if (!is_mounted_) return {};
  if (held_)
    held_.reset();
  else
    CFFS_TRY_VOID(unmount_patiently(mounted_));
  is_mounted_ = false;
  return wait_until_free(device_number_, below());
}

Status Image::remount() {
  CFFS_TRY_VOID(unmount());
  return mount();
}

Status Image::hurry(bool at_once) { return model_.empty() ? Status() : set_pace(model_, at_once); }

Image::~Image() {
  (void)unmount();
  if (!model_.empty()) {
    (void)unmount_patiently(model_);
    server_.wait();
  }
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace cffs::bench
