#include "bench/rig/passthrough.h"

#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/object/file_descriptor.h"
#include "fusefs/connection.h"
#include "fusefs/request_loop.h"

namespace cffs::bench {
namespace {

constexpr double kForEver = 1e9;

// A file handle with the room that any local file system needs.
struct Handle {
  file_handle head;
  std::array<unsigned char, 128> bytes;
  bool same(const Handle& other) const {
    return head.handle_bytes == other.head.handle_bytes && head.handle_type == other.head.handle_type &&
           std::memcmp(head.f_handle, other.head.f_handle, head.handle_bytes) == 0;
  }
};

struct Inode {
  FileDescriptor path;             // O_PATH: directories, and files whose last name is gone
  std::unique_ptr<Handle> handle;  // all others
  std::uint64_t references = 0;
  dev_t device = 0;
  ino_t number = 0;
};

struct Mount {
  Inode root;
  FileDescriptor root_readable;  // what file handles are opened against
  std::mutex mutex;              // leaf
  std::map<std::pair<dev_t, ino_t>, Inode*> inodes;
};

Mount& mount_of(fuse_req_t req) { return *static_cast<Mount*>(fuse_req_userdata(req)); }
Inode& inode_of(fuse_req_t req, fuse_ino_t node) {
  return node == FUSE_ROOT_ID ? mount_of(req).root : *reinterpret_cast<Inode*>(node);
}
int directory_of(fuse_req_t req, fuse_ino_t node) { return inode_of(req, node).path.get(); }

void init(void*, fuse_conn_info* conn) { configure_connection(conn); }

int open_path(int parent, const char* name) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  const long fd = ::syscall(SYS_openat2, parent, name, &how, sizeof how);
  if (fd >= 0 || errno != EAGAIN) return static_cast<int>(fd);
  announce_blocking();
  return ::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

// 0 and a referenced entry, or an errno.
int find(fuse_req_t req, int parent, const char* name, fuse_entry_param& entry) {
  FileDescriptor fd(open_path(parent, name));
  if (!fd) return errno;
  struct stat st;
  if (::fstatat(fd.get(), "", &st, AT_EMPTY_PATH) != 0) return errno;
  std::unique_ptr<Handle> handle;
  if (!S_ISDIR(st.st_mode)) {
    handle = std::make_unique<Handle>();
    handle->head.handle_bytes = sizeof handle->bytes;
    int mount_id = 0;
    if (::name_to_handle_at(fd.get(), "", &handle->head, &mount_id, AT_EMPTY_PATH) != 0) return errno;
  }
  Mount& mount = mount_of(req);
  const std::lock_guard guard(mount.mutex);
  Inode*& inode = mount.inodes[{st.st_dev, st.st_ino}];
  // A number that was used again is another file; the old node lives until the kernel forgets it.
  const bool other = inode != nullptr && handle && inode->handle && !inode->handle->same(*handle);
  if (inode == nullptr || other) {
    inode = new Inode;
    if (!handle) inode->path = std::move(fd);
    inode->handle = std::move(handle);
    inode->device = st.st_dev;
    inode->number = st.st_ino;
  }
  ++inode->references;
  entry = {};
  entry.ino = reinterpret_cast<fuse_ino_t>(inode);
  entry.attr = st;
  entry.attr_timeout = entry.entry_timeout = kForEver;
  return 0;
}

void reply_found(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  if (const int problem = find(req, directory_of(req, parent), name, entry); problem != 0) {
    fuse_reply_err(req, problem);
  } else {
    fuse_reply_entry(req, &entry);
  }
}

void reply_result(fuse_req_t req, int result) { fuse_reply_err(req, result == 0 ? 0 : errno); }

void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  const int problem = find(req, directory_of(req, parent), name, entry);
  if (problem == ENOENT) {
    entry = {};
    entry.entry_timeout = kForEver;
  } else if (problem != 0) {
    fuse_reply_err(req, problem);
    return;
  }
  fuse_reply_entry(req, &entry);
}

void forget_one(Mount& mount, fuse_ino_t node, std::uint64_t n) {
  if (node == FUSE_ROOT_ID) return;
  auto* inode = reinterpret_cast<Inode*>(node);
  const std::lock_guard guard(mount.mutex);
  inode->references -= n;
  if (inode->references != 0) return;
  const auto it = mount.inodes.find({inode->device, inode->number});
  if (it != mount.inodes.end() && it->second == inode) mount.inodes.erase(it);
  delete inode;
}

void forget(fuse_req_t req, fuse_ino_t node, std::uint64_t n) {
  forget_one(mount_of(req), node, n);
  fuse_reply_none(req);
}

void forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i) forget_one(mount_of(req), forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

// A descriptor for one operation on a file: the node's own for a directory, else a new one.
class Opened {
 public:
  Opened(fuse_req_t req, fuse_ino_t node, int flags) {
    Inode& inode = inode_of(req, node);
    const bool path_only = (flags & O_PATH) != 0;
    if (inode.path && (path_only || !inode.handle)) {
      fd_ = inode.path.get();
    } else if (inode.path) {  // its last name is gone: by the descriptor that keeps it
      owned_ = FileDescriptor(
          ::open(("/proc/self/fd/" + std::to_string(inode.path.get())).c_str(), flags | O_CLOEXEC));
      fd_ = owned_.get();
    } else {
      const int mount_fd = mount_of(req).root_readable.get();
      owned_ = FileDescriptor(::open_by_handle_at(mount_fd, &inode.handle->head, flags | O_CLOEXEC));
      fd_ = owned_.get();
    }
  }
  int get() const { return fd_; }
  // Calls that take no O_PATH descriptor take this.
  std::string name() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  FileDescriptor owned_;
  int fd_ = -1;
};

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

// --- names ---

// New files belong to who asked for them, as they would without us.
class AsCaller {
 public:
  explicit AsCaller(fuse_req_t req) {
    const fuse_ctx* ctx = fuse_req_ctx(req);
    if (ctx->uid == 0 && ctx->gid == 0) return;
    changed_ = true;
    ::syscall(SYS_setresgid, -1, ctx->gid, -1);
    ::syscall(SYS_setresuid, -1, ctx->uid, -1);
  }
  ~AsCaller() {
    if (!changed_) return;
    ::syscall(SYS_setresuid, -1, 0, -1);
    ::syscall(SYS_setresgid, -1, 0, -1);
  }
  AsCaller(const AsCaller&) = delete;
  AsCaller& operator=(const AsCaller&) = delete;

 private:
  bool changed_ = false;
};

void mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev) {
  int made = 0;
  {
    const AsCaller as(req);
    made = ::mknodat(directory_of(req, parent), name, mode, rdev);
  }
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  int made = 0;
  {
    const AsCaller as(req);
    made = ::mkdirat(directory_of(req, parent), name, mode);
  }
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  int made = 0;
  {
    const AsCaller as(req);
    made = ::symlinkat(target, directory_of(req, parent), name);
  }
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

void link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  const Opened file(req, node, O_PATH);
  const int made =
      ::linkat(AT_FDCWD, file.name().c_str(), directory_of(req, parent), name, AT_SYMLINK_FOLLOW);
  made == 0 ? reply_found(req, parent, name) : reply_result(req, made);
}

// A file that somebody may have open stays usable without its name: its node gets a descriptor first.
void keep_open(fuse_req_t req, int parent, const char* name) {
  FileDescriptor fd(::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st;
  if (!fd || ::fstatat(fd.get(), "", &st, AT_EMPTY_PATH) != 0 || S_ISDIR(st.st_mode) || st.st_nlink != 1)
    return;
  Mount& mount = mount_of(req);
  const std::lock_guard guard(mount.mutex);
  const auto it = mount.inodes.find({st.st_dev, st.st_ino});
  if (it != mount.inodes.end()) it->second->path = std::move(fd);
}

void unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  keep_open(req, directory_of(req, parent), name);
  reply_result(req, ::unlinkat(directory_of(req, parent), name, 0));
}

void rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  reply_result(req, ::unlinkat(directory_of(req, parent), name, AT_REMOVEDIR));
}

void rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
            unsigned flags) {
  keep_open(req, directory_of(req, new_parent), new_name);
  reply_result(req,
               ::renameat2(directory_of(req, parent), name, directory_of(req, new_parent), new_name, flags));
}

// --- data ---

void open(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }

void read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  thread_local std::vector<char> buffer;
  if (buffer.size() < size) buffer.resize(size);
  const Opened file(req, node, O_RDONLY);
  const int fd = file.get();
  if (fd < 0) {
    fuse_reply_err(req, errno);
    return;
  }
  iovec piece{buffer.data(), size};
  ssize_t n = ::preadv2(fd, &piece, 1, offset, RWF_NOWAIT);
  if (n < static_cast<ssize_t>(size)) {
    if (n < 0) announce_blocking();
    n = ::pread(fd, buffer.data(), size, offset);
  }
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_buf(req, buffer.data(), static_cast<std::size_t>(n));
  }
}

void write(fuse_req_t req, fuse_ino_t node, const char* data, std::size_t size, off_t offset,
           fuse_file_info*) {
  const Opened file(req, node, O_WRONLY);
  const ssize_t n = file.get() < 0 ? -1 : ::pwrite(file.get(), data, size, offset);
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_write(req, static_cast<std::size_t>(n));
  }
}

void fsync(fuse_req_t req, fuse_ino_t node, int data_only, fuse_file_info*) {
  announce_blocking();
  const Opened file(req, node, O_RDONLY);
  // A directory's own descriptor is of no use for this.
  const FileDescriptor again(file.get() < 0 ? -1 : ::open(file.name().c_str(), O_RDONLY | O_CLOEXEC));
  reply_result(req, !again ? -1 : data_only != 0 ? ::fdatasync(again.get()) : ::fsync(again.get()));
}

void readdirplus(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  announce_blocking();
  const int fd = ::openat(directory_of(req, node), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fd >= 0 ? ::fdopendir(fd) : nullptr, ::closedir);
  if (!dir) {
    fuse_reply_err(req, errno);
    return;
  }
  if (offset != 0) ::seekdir(dir.get(), offset);
  std::vector<char> buffer(size);
  std::size_t used = 0;
  while (const dirent* d = ::readdir(dir.get())) {
    fuse_entry_param entry{};
    const bool dots = std::strcmp(d->d_name, ".") == 0 || std::strcmp(d->d_name, "..") == 0;
    if (dots) {
      entry.attr.st_ino = d->d_ino;
      entry.attr.st_mode = S_IFDIR;
    } else if (find(req, ::dirfd(dir.get()), d->d_name, entry) != 0) {
      continue;
    }
    const std::size_t needed =
        fuse_add_direntry_plus(req, buffer.data() + used, size - used, d->d_name, &entry, d->d_off);
    if (needed > size - used) {
      if (!dots) forget_one(mount_of(req), entry.ino, 1);
      break;
    }
    used += needed;
  }
  fuse_reply_buf(req, buffer.data(), used);
}

// --- extended attributes ---

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
  if (::fstatvfs(mount_of(req).root.path.get(), &v) != 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_statfs(req, &v);
  }
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = init;
  ops.lookup = lookup;
  ops.forget = forget;
  ops.forget_multi = forget_multi;
  ops.getattr = getattr;
  ops.setattr = setattr;
  ops.readlink = readlink;
  ops.mknod = mknod;
  ops.mkdir = mkdir;
  ops.symlink = symlink;
  ops.link = link;
  ops.unlink = unlink;
  ops.rmdir = rmdir;
  ops.rename = rename;
  ops.open = open;
  ops.opendir = open;
  ops.read = read;
  ops.write = write;
  ops.fsync = fsync;
  ops.fsyncdir = fsync;
  ops.readdirplus = readdirplus;
  ops.getxattr = getxattr;
  ops.listxattr = listxattr;
  ops.setxattr = setxattr;
  ops.removexattr = removexattr;
  ops.statfs = statfs;
  return ops;
}

}  // namespace

Status serve_passthrough(const std::string& directory, const std::string& mount_point) {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;  // every directory the kernel knows takes one
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  (void)::umask(0);
  Mount mount;
  mount.root.path = FileDescriptor(::open(directory.c_str(), O_PATH | O_CLOEXEC));
  mount.root_readable = FileDescriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!mount.root_readable) return fail(errno, directory);
  const fuse_lowlevel_ops ops = operations();
  std::string source;
  for (const char c : directory) source += c == ',' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  std::vector<std::string> words{"passthrough", "-o",
                                 "suid,dev,default_permissions,subtype=passthrough,fsname=" + source};
  if (::geteuid() == 0) words.back() += ",allow_other";
  fuse_session* session = new_session(std::move(words), ops, &mount);
  if (session == nullptr || fuse_session_mount(session, mount_point.c_str()) != 0) {
    if (session != nullptr) fuse_session_destroy(session);
    return fail(Error::usage("cannot mount on " + mount_point + "; is /dev/fuse there, and may you use it?"));
  }
  int problem = 0;
  {
    RequestLoop loop(session, 16);
    problem = loop.run();
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  if (problem != 0) return fail(problem, "/dev/fuse");
  return {};
}

}  // namespace cffs::bench
