#include "fusefs/mount_point.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <thread>

#include "core/object/file_descriptor.h"
#include "fusefs/mount_table.h"

namespace cffs {

Result<std::string> absolute(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (::realpath(path.c_str(), buffer.data()) == nullptr) return fail(errno, path);
  return std::string(buffer.data());
}

// A daemon that leaves closes its connection first, and takes the mount away a moment later; one that was killed leaves it there.
Status check_mount_point(const std::string& path) {
  constexpr std::chrono::milliseconds kLeaves{2000}, kPause{5};
  struct stat st;
  struct statfs
      asked;  // stat(2) may be answered by what the kernel remembers of a mount whose daemon is gone
  for (std::chrono::milliseconds waited{0};
       ::stat(path.c_str(), &st) != 0 || ::statfs(path.c_str(), &asked) != 0; waited += kPause) {
    if (errno != ENOTCONN && errno != ECONNABORTED) return fail(errno, "mount point " + path);
    if (waited >= kLeaves) {
      return fail(Error::usage("mount point " + path + " has a mount whose daemon is gone; cffs umount " +
                               path + " takes it away, then the same command mounts again"));
    }
    std::this_thread::sleep_for(kPause);
  }
  if (!S_ISDIR(st.st_mode)) return fail(ENOTDIR, "mount point " + path);
  if (const auto there = mounted_at(path); there && path != "/") {
    return fail(Error::usage("mount point " + path + " is busy: " + there->source +
                             " is mounted there; unmount it first"));
  }
  return {};
}

void raise_readahead(const std::string& mount_point) {
  struct stat st;
  if (::stat(mount_point.c_str(), &st) != 0) return;
  const std::string device = std::to_string(major(st.st_dev)) + ":" + std::to_string(minor(st.st_dev));
  // A block device has settings of its own beside those of what is mounted from it.
  for (const char* of_mount : {"-fuseblk", ""}) {
    const std::string path = "/sys/class/bdi/" + device + of_mount + "/read_ahead_kb";
    const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) continue;
    (void)!::write(fd.get(), "1024", 4);
    return;
  }
}

}  // namespace cffs
