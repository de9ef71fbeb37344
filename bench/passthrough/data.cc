// What files and directories hold.
#include <dirent.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "bench/passthrough/nodes.h"
#include "bench/passthrough/operations.h"
#include "fusefs/request_loop.h"

namespace cffs::bench::passthrough {
namespace {

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
  // The kernel asks for whole pages: at a file's end there is less, and no reason to read again what came from the cache.
  std::size_t done = 0;
  const auto rest_at = [&] { return offset + static_cast<off_t>(done); };
  ssize_t n = 0;
  do {
    iovec rest{buffer.data() + done, size - done};
    n = ::preadv2(fd, &rest, 1, rest_at(), RWF_NOWAIT);
    if (n > 0) done += static_cast<std::size_t>(n);
  } while (n > 0 && done < size);
  if (n < 0) {
    announce_blocking();
    n = ::pread(fd, buffer.data() + done, size - done, rest_at());
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  if (n < 0) {
    fuse_reply_err(req, errno);
  } else {
    fuse_reply_buf(req, buffer.data(), done);
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
  int problem = 0;
  for (;;) {
    errno = 0;
    const dirent* d = ::readdir(dir.get());
    if (d == nullptr) problem = errno;
    if (d == nullptr) break;
    fuse_entry_param entry{};
    const bool dots = std::strcmp(d->d_name, ".") == 0 || std::strcmp(d->d_name, "..") == 0;
    if (dots) {
      entry.attr.st_ino = d->d_ino;
      entry.attr.st_mode = S_IFDIR;
    } else if (Nodes::of(req).find(::dirfd(dir.get()), d->d_name, entry) != 0) {
      continue;
    }
    const std::size_t needed =
        fuse_add_direntry_plus(req, buffer.data() + used, size - used, d->d_name, &entry, d->d_off);
    if (needed > size - used) {
      if (!dots) Nodes::of(req).forget(entry.ino, 1);
      break;
    }
    used += needed;
  }
  if (problem != 0 && used == 0) {
    fuse_reply_err(req, problem);
  } else {
    fuse_reply_buf(req, buffer.data(), used);
  }
}

}  // namespace

void add_data_operations(fuse_lowlevel_ops& ops) {
  ops.open = open;
  ops.opendir = open;
  ops.read = read;
  ops.write = write;
  ops.fsync = fsync;
  ops.fsyncdir = fsync;
  ops.readdirplus = readdirplus;
}

}  // namespace cffs::bench::passthrough
