#include "core/region/image_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace cffs {

Status make_image_of(int fd, const std::string& path, std::uint64_t bytes) {
  int flags = 0;  // as the kernel reads and writes it, whatever the request's number says
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_NOCOW_FL) == 0) {
    flags |= FS_NOCOW_FL;
    (void)::ioctl(fd, FS_IOC_SETFLAGS, &flags);  // a file system that knows no such mark refuses it
  }
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return fail(errno, path);
  return {};
}

}  // namespace cffs
