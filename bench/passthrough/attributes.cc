// Attributes, extended attributes, targets of symlinks, and the figures of the file system.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "bench/passthrough/nodes.h"
#include "bench/passthrough/operations.h"

namespace cffs::bench::passthrough {
namespace {

void getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  const Opened file(req, node, O_PATH);
  struct stat st;
  if (file.get() < 0 || ::fstatat(file.get(), "", &st, AT_EMPTY_PATH) != 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_attr(req, &st, kForEver);
  }
}

int change_attributes(const Opened& file, fuse_req_t req, fuse_ino_t node, const struct stat& attr, int set) {
  if ((set & FUSE_SET_ATTR_MODE) != 0 && ::chmod(file.name().c_str(), attr.st_mode & 07777) != 0) return -1;
  if ((set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0) {
    const uid_t uid = (set & FUSE_SET_ATTR_UID) != 0 ? attr.st_uid : static_cast<uid_t>(-1);
    const gid_t gid = (set & FUSE_SET_ATTR_GID) != 0 ? attr.st_gid : static_cast<gid_t>(-1);
    if (::fchownat(file.get(), "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) return -1;
  }
  if ((set & FUSE_SET_ATTR_SIZE) != 0) {
    const Opened writable(req, node, O_WRONLY);
    if (writable.get() < 0 || ::ftruncate(writable.get(), attr.st_size) != 0) return -1;
  }
  if ((set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
              FUSE_SET_ATTR_MTIME_NOW)) != 0) {
    timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    if ((set & FUSE_SET_ATTR_ATIME_NOW) != 0) {
      times[0].tv_nsec = UTIME_NOW;
    } else if ((set & FUSE_SET_ATTR_ATIME) != 0) {
      times[0] = attr.st_atim;
    }
    if ((set & FUSE_SET_ATTR_MTIME_NOW) != 0) {
      times[1].tv_nsec = UTIME_NOW;
    } else if ((set & FUSE_SET_ATTR_MTIME) != 0) {
      times[1] = attr.st_mtim;
    }
    if (::utimensat(AT_FDCWD, file.name().c_str(), times, 0) != 0) return -1;
  }
  return 0;
}

void setattr(fuse_req_t req, fuse_ino_t node, struct stat* attr, int set, fuse_file_info*) {
  const Opened file(req, node, O_PATH);
  struct stat st;
  if (file.get() < 0 || change_attributes(file, req, node, *attr, set) != 0 ||
      ::fstatat(file.get(), "", &st, AT_EMPTY_PATH) != 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_attr(req, &st, kForEver);
  }
}

void readlink(fuse_req_t req, fuse_ino_t node) {
  const Opened link(req, node, O_PATH | O_NOFOLLOW);
  std::string target(4097, '\0');
  const ssize_t n = ::readlinkat(link.get(), "", target.data(), target.size() - 1);
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else {
    target[static_cast<std::size_t>(n)] = '\0';
    fuse_reply_readlink(req, target.c_str());
  }
}

void reply_xattr(fuse_req_t req, ssize_t n, const std::vector<char>& value) {
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else if (value.empty()) {
    fuse_reply_xattr(req, static_cast<std::size_t>(n));
  } else {
    fuse_reply_buf(req, value.data(), static_cast<std::size_t>(n));
  }
}

void getxattr(fuse_req_t req, fuse_ino_t node, const char* name, std::size_t size) {
  const Opened file(req, node, O_PATH);
  std::vector<char> value(size);
  reply_xattr(req, ::getxattr(file.name().c_str(), name, value.data(), size), value);
}

void listxattr(fuse_req_t req, fuse_ino_t node, std::size_t size) {
  const Opened file(req, node, O_PATH);
  std::vector<char> value(size);
  reply_xattr(req, ::listxattr(file.name().c_str(), value.data(), size), value);
}

void setxattr(fuse_req_t req, fuse_ino_t node, const char* name, const char* value, std::size_t size,
              int flags) {
  const Opened file(req, node, O_PATH);
  reply_result(req, ::setxattr(file.name().c_str(), name, value, size, flags));
}

void removexattr(fuse_req_t req, fuse_ino_t node, const char* name) {
  const Opened file(req, node, O_PATH);
  reply_result(req, ::removexattr(file.name().c_str(), name));
}

void statfs(fuse_req_t req, fuse_ino_t) {
  struct statvfs v;
  if (::fstatvfs(Nodes::of(req).at(FUSE_ROOT_ID).descriptor(), &v) != 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_statfs(req, &v);
  }
}

}  // namespace

void add_attribute_operations(fuse_lowlevel_ops& ops) {
  ops.getattr = getattr;
  ops.setattr = setattr;
  ops.readlink = readlink;
  ops.getxattr = getxattr;
  ops.listxattr = listxattr;
  ops.setxattr = setxattr;
  ops.removexattr = removexattr;
  ops.statfs = statfs;
}

}  // namespace cffs::bench::passthrough
