#include "core/region/image_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/bytes.h"

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

Result<bool> begins_blank(const BlockDevice& device) {
  constexpr std::uint64_t kLook = 128 * 1024;
  std::string begin(std::min(kLook, device.size()), '\0');
  CFFS_TRY_VOID(device.read(0, as_writable_bytes(begin)));
  return begin.find_first_not_of('\0') == std::string::npos;
}

}  // namespace cffs
