// A read-only FUSE pass-through: the baseline "FUSE + the same file system" of the composite-file paper, tuned as cffs
// is tuned, so that what remains between the two is the design and not the plumbing.
//
// Same request loop, same infinite timeouts, same refusal of OPEN, OPENDIR and FLUSH: a cold read costs LOOKUP and READ
// here too. A directory's node keeps a descriptor, a file's node a file handle: descriptors are scarcer than files. What
// may wait for the device (a lookup outside the kernel's cache, a read outside the page cache) is announced, so slow
// requests do not hold up fast ones.
//
//   passthrough DIRECTORY MOUNTPOINT      (foreground; ends when unmounted)
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/object/file_descriptor.h"
#include "fusefs/request_loop.h"

namespace {

using cffs::FileDescriptor;

constexpr double kForEver = 1e9;

// A file handle with the room that any local file system needs.
struct Handle {
  file_handle head;
  std::array<unsigned char, 128> bytes;
};

struct Inode {
  FileDescriptor path;             // O_PATH, directories only
  std::unique_ptr<Handle> handle;  // all others
  std::uint64_t references = 0;
  dev_t device = 0;
  ino_t number = 0;
};

struct Mount {
  Inode root;
  FileDescriptor root_readable;  // what file handles are opened against
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::unique_ptr<Inode>> inodes;
};

Mount& mount_of(fuse_req_t req) { return *static_cast<Mount*>(fuse_req_userdata(req)); }
Inode& inode_of(fuse_req_t req, fuse_ino_t node) {
  return node == FUSE_ROOT_ID ? mount_of(req).root : *reinterpret_cast<Inode*>(node);
}

void init(void*, fuse_conn_info* conn) {
  const auto want = [conn](unsigned flag) {
    if ((conn->capable & flag) != 0) conn->want |= flag;
  };
  conn->want &= ~static_cast<unsigned>(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                                       FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA);
  want(FUSE_CAP_PARALLEL_DIROPS);
  want(FUSE_CAP_READDIRPLUS);
  want(FUSE_CAP_NO_OPEN_SUPPORT);
  want(FUSE_CAP_NO_OPENDIR_SUPPORT);
  conn->max_readahead = 1u << 20;
}

int open_path(int parent, const char* name) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  const long fd = ::syscall(SYS_openat2, parent, name, &how, sizeof how);
  if (fd >= 0 || errno != EAGAIN) return static_cast<int>(fd);
  cffs::announce_blocking();
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
  auto& inode = mount.inodes[{st.st_dev, st.st_ino}];
  if (!inode) {
    inode = std::make_unique<Inode>();
    if (!handle) inode->path = std::move(fd);
    inode->handle = std::move(handle);
    inode->device = st.st_dev;
    inode->number = st.st_ino;
  }
  ++inode->references;
  entry = {};
  entry.ino = reinterpret_cast<fuse_ino_t>(inode.get());
  entry.attr = st;
  entry.attr_timeout = entry.entry_timeout = kForEver;
  return 0;
}

void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry{};
  const int problem = find(req, inode_of(req, parent).path.get(), name, entry);
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
  if (inode->references == 0) mount.inodes.erase({inode->device, inode->number});
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
    if (inode.handle) {
      const int mount_fd = mount_of(req).root_readable.get();
      owned_ = FileDescriptor(::open_by_handle_at(mount_fd, &inode.handle->head, flags | O_CLOEXEC));
      fd_ = owned_.get();
    } else {
      fd_ = inode.path.get();
    }
  }
  int get() const { return fd_; }

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
    if (n < 0) cffs::announce_blocking();
    n = ::pread(fd, buffer.data(), size, offset);
  }
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_buf(req, buffer.data(), static_cast<std::size_t>(n));
  }
}

void readdirplus(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  cffs::announce_blocking();
  const int fd = ::openat(inode_of(req, node).path.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

void statfs(fuse_req_t req, fuse_ino_t) {
  struct statvfs v;
  if (::fstatvfs(mount_of(req).root.path.get(), &v) != 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_statfs(req, &v);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: passthrough DIRECTORY MOUNTPOINT\n");
    return 2;
  }
  Mount mount;
  mount.root.path = FileDescriptor(::open(argv[1], O_PATH | O_CLOEXEC));
  mount.root_readable = FileDescriptor(::open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!mount.root_readable) {
    std::fprintf(stderr, "passthrough: %s: %s\n", argv[1], std::strerror(errno));
    return 1;
  }
  fuse_lowlevel_ops ops{};
  ops.init = init;
  ops.lookup = lookup;
  ops.forget = forget;
  ops.forget_multi = forget_multi;
  ops.getattr = getattr;
  ops.readlink = readlink;
  ops.open = open;
  ops.opendir = open;
  ops.read = read;
  ops.readdirplus = readdirplus;
  ops.statfs = statfs;
  std::vector<std::string> words{"passthrough", "-o", "ro,default_permissions,subtype=passthrough"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(arguments.size()), arguments.data());
  fuse_session* session = fuse_session_new(&args, &ops, sizeof ops, &mount);
  fuse_opt_free_args(&args);
  if (session == nullptr || fuse_session_mount(session, argv[2]) != 0) {
    std::fprintf(stderr, "passthrough: cannot mount on %s\n", argv[2]);
    return 1;
  }
  int problem = 0;
  {
    cffs::RequestLoop loop(session, 16);
    problem = loop.run();
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return problem == 0 ? 0 : 1;
}
