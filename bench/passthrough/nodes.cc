#include "bench/passthrough/nodes.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "fusefs/request_loop.h"

namespace cffs::bench::passthrough {
namespace {

// A lookup in the kernel's cache is made at once; one that may wait for the device is announced.
int open_path(int parent, const char* name) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  const long fd = ::syscall(SYS_openat2, parent, name, &how, sizeof how);
  if (fd >= 0 || errno != EAGAIN) return static_cast<int>(fd);
  announce_blocking();
  return ::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

}  // namespace

void Node::keep(FileDescriptor descriptor) {
  if (kept_) return;
  kept_ = std::move(descriptor);
  descriptor_.store(kept_.get(), std::memory_order_release);
}

int Nodes::find(int parent, const char* name, fuse_entry_param& entry) {
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
  const MutexLock guard(mutex_);
  Node*& node = nodes_[{st.st_dev, st.st_ino}];
  // A number that was used again is another file; the old node lives until the kernel forgets it.
  const bool other = node != nullptr && handle && node->handle && !node->handle->same(*handle);
  if (node == nullptr || other) {
    node = new Node;
    if (!handle) node->keep(std::move(fd));
    node->handle = std::move(handle);
    node->device = st.st_dev;
    node->number = st.st_ino;
  }
  ++node->references;
  entry = {};
  entry.ino = reinterpret_cast<fuse_ino_t>(node);
  entry.attr = st;
  entry.attr_timeout = entry.entry_timeout = kForEver;
  return 0;
}

void Nodes::forget(fuse_ino_t ino, std::uint64_t times) {
  if (ino == FUSE_ROOT_ID) return;
  Node* const node = &at(ino);
  const MutexLock guard(mutex_);
  node->references -= times;
  if (node->references != 0) return;
  const auto it = nodes_.find({node->device, node->number});
  if (it != nodes_.end() && it->second == node) nodes_.erase(it);
  delete node;
}

void Nodes::keep_open(int parent, const char* name) {
  FileDescriptor fd(::openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st;
  if (!fd || ::fstatat(fd.get(), "", &st, AT_EMPTY_PATH) != 0 || S_ISDIR(st.st_mode) || st.st_nlink != 1)
    return;
  const MutexLock guard(mutex_);
  const auto it = nodes_.find({st.st_dev, st.st_ino});
  if (it != nodes_.end()) it->second->keep(std::move(fd));
}

Opened::Opened(fuse_req_t req, fuse_ino_t ino, int flags) {
  const Node& node = Nodes::of(req).at(ino);
  const int own = node.descriptor();
  const bool path_only = (flags & O_PATH) != 0;
  if (own >= 0 && (path_only || !node.handle)) {
    fd_ = own;
    return;
  }
  if (own >= 0) {  // its last name is gone: by the descriptor that keeps it
    owned_ = FileDescriptor(::open(proc_path_of(own).c_str(), flags | O_CLOEXEC));
  } else {
    owned_ =
        FileDescriptor(::open_by_handle_at(Nodes::of(req).readable(), &node.handle->head, flags | O_CLOEXEC));
  }
  fd_ = owned_.get();
}

}  // namespace cffs::bench::passthrough
