// READ, WRITE, FSYNC, FSYNCDIR, LSEEK; and the OPEN that is refused on purpose.
#include <unistd.h>

#include <memory>

#include "fusefs/reply.h"

namespace cffs::fuse {
namespace {

// One buffer for each serving thread: a reply is copied to the kernel before the next request is read.
Bytes thread_buffer(std::size_t size) {
  thread_local std::unique_ptr<std::byte[]> memory;
  thread_local std::size_t capacity = 0;
  if (capacity < size) {
    memory = std::make_unique_for_overwrite<std::byte[]>(size);
    capacity = size;
  }
  return {memory.get(), size};
}

void open(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }

void read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  guarded(req, "read", [&] {
    const Bytes out = thread_buffer(size);
    const pid_t process = fuse_req_ctx(req)->pid;  // the reply frees the request
    FileSystem& engine = fs(req);
    Watch watch(req, Watch::What::read, inode_of(node));
    watch.seen().offset = static_cast<std::uint64_t>(offset);
    watch.seen().length = size;
    const auto n = engine.read(inode_of(node), static_cast<std::uint64_t>(offset), out);
    watch.seen().result = n ? static_cast<std::int64_t>(*n) : -errno_of(n.error());
    if (!n) {
      fuse_reply_err(req, errno_of(n.error()));
    } else {
      fuse_reply_buf(req, reinterpret_cast<const char*>(out.data()), *n);
      if (offset == 0) engine.note_access(inode_of(node), static_cast<std::uint64_t>(process));
    }
  });
}

void write(fuse_req_t req, fuse_ino_t node, const char* data, std::size_t size, off_t offset,
           fuse_file_info*) {
  guarded(req, "write", [&] {
    Watch watch(req, Watch::What::write, inode_of(node));
    watch.seen().offset = static_cast<std::uint64_t>(offset);
    watch.seen().length = size;
    watch.seen().result = static_cast<std::int64_t>(size);
    const Status done = fs(req).write(inode_of(node), static_cast<std::uint64_t>(offset),
                                      as_bytes(std::string_view(data, size)), by_root(req));
    if (!watch.outcome(done)) {
      fuse_reply_err(req, errno_of(done));
    } else {
      fuse_reply_write(req, size);
    }
  });
}

void fsync(fuse_req_t req, fuse_ino_t node, int, fuse_file_info*) {
  guarded(req, "fsync", [&] {
    Watch watch(req, Watch::What::fsync, inode_of(node));
    reply_status(req, watch.outcome(fs(req).fsync(inode_of(node))));
  });
}

void lseek(fuse_req_t req, fuse_ino_t node, off_t offset, int whence, fuse_file_info*) {
  guarded(req, "lseek", [&] {
    if (offset < 0) {
      fuse_reply_err(req, ENXIO);
      return;
    }
    FileSystem& engine = fs(req);
    const auto from = static_cast<std::uint64_t>(offset);
    const auto found =
        whence == SEEK_DATA ? engine.next_data(inode_of(node), from) : engine.next_hole(inode_of(node), from);
    const auto attributes = engine.getattr(inode_of(node));
    if (!found || !attributes) {
      fuse_reply_err(req, errno_of(found ? attributes.error() : found.error()));
    } else if (whence == SEEK_DATA && *found >= attributes->size) {
      fuse_reply_err(req, ENXIO);
    } else {
      fuse_reply_lseek(req, static_cast<off_t>(*found));
    }
  });
}

}  // namespace

void add_data_operations(fuse_lowlevel_ops& ops) {
  ops.open = open;
  ops.read = read;
  ops.write = write;
  ops.fsync = fsync;
  ops.fsyncdir = fsync;
  ops.lseek = lseek;
}

}  // namespace cffs::fuse
