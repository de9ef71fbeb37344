#include "fusefs/mount_attributes.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace cffs {
namespace {

// struct mount_attr; older headers lack it, or have it twice.
struct MountAttributes {
  std::uint64_t set, clear, propagation, user_namespace;
};

int change_attributes(const std::string& mount_point, const MountAttributes& change) {
  constexpr long kMountSetattr = 442;
  return static_cast<int>(::syscall(kMountSetattr, AT_FDCWD, mount_point.c_str(), 0, &change, sizeof change));
}

}  // namespace

Status set_mount_attributes(const std::string& mount_point, const MountOptions& options) {
  MountAttributes times{};
  if (options.access_times == AccessTimes::strict) {
    times.set = MOUNT_ATTR_STRICTATIME;
    times.clear = MOUNT_ATTR__ATIME;
  }
  if (!options.directory_access_times) times.set |= MOUNT_ATTR_NODIRATIME;
  if (times.set != 0) (void)change_attributes(mount_point, times);

  MountAttributes links{};
  constexpr std::uint64_t kNoSymlinks = 0x00200000;  // MOUNT_ATTR_NOSYMFOLLOW, Linux 5.14
  links.set = kNoSymlinks;
  if (!options.follow_symlinks && change_attributes(mount_point, links) != 0) {
    return fail(errno, "mount option 'nosymfollow', which needs root and Linux 5.14");
  }
  return {};
}

}  // namespace cffs
