#include "fusefs/mount_point.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "core/object/file_descriptor.h"
#include "fusefs/mount_table.h"

namespace cffs {

Result<std::string> absolute(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (::realpath(path.c_str(), buffer.data()) == nullptr) return fail(errno, path);
  return std::string(buffer.data());
}

Status check_mount_point(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return fail(errno, "mount point " + path);
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
  const std::string path = "/sys/class/bdi/" + std::to_string(major(st.st_dev)) + ":" +
                           std::to_string(minor(st.st_dev)) + "/read_ahead_kb";
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd) (void)!::write(fd.get(), "1024", 4);
}

}  // namespace cffs
