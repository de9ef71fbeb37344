// What the pass-through knows of files: a node for each that the kernel knows, found by device and number.
//
// A directory's node keeps a descriptor, a file's node a file handle: descriptors are scarcer than files. A file that loses its
// last name gets a descriptor before, so that who has it open keeps it. Thread-safe; a node lives until the kernel forgot it.
#pragma once

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"

namespace cffs::bench::passthrough {

inline constexpr double kForEver = 1e9;  // seconds that the kernel may keep names and attributes

// A file handle with the room that any local file system needs.
struct Handle {
  file_handle head;
  std::array<unsigned char, 128> bytes;
  bool same(const Handle& other) const {
    return head.handle_bytes == other.head.handle_bytes && head.handle_type == other.head.handle_type &&
           std::memcmp(head.f_handle, other.head.f_handle, head.handle_bytes) == 0;
  }
};

class Node {
 public:
  // O_PATH: of directories, and of files whose last name is gone; -1: there is none. It stays as long as the node.
  int descriptor() const { return descriptor_.load(std::memory_order_acquire); }
  // The first one counts. Under the mutex of Nodes, or before anybody else knows the node.
  void keep(FileDescriptor descriptor);

  std::unique_ptr<Handle> handle;  // of all but directories
  std::uint64_t references = 0;    // the kernel's; under the mutex of Nodes
  dev_t device = 0;
  ino_t number = 0;

 private:
  FileDescriptor kept_;
  std::atomic<int> descriptor_{-1};  // the number of kept_
};

class Nodes {
 public:
  // `readable`: what file handles are opened against; `path`: the same directory, O_PATH.
  Nodes(FileDescriptor path, FileDescriptor readable) : readable_(std::move(readable)) {
    root_.keep(std::move(path));
  }
  static Nodes& of(fuse_req_t req) { return *static_cast<Nodes*>(fuse_req_userdata(req)); }

  Node& at(fuse_ino_t node) { return node == FUSE_ROOT_ID ? root_ : *reinterpret_cast<Node*>(node); }
  // A name's node, referenced once more, and its attributes. 0 or an errno.
  int find(int parent, const char* name, fuse_entry_param& entry);
  void forget(fuse_ino_t node, std::uint64_t times);
  // Of a name that is about to go: a file that somebody may have open stays usable without it.
  void keep_open(int parent, const char* name);
  int readable() const { return readable_.get(); }

 private:
  Node root_;
  const FileDescriptor readable_;
  Mutex mutex_;  // leaf: the map, and the nodes' references
  std::map<std::pair<dev_t, ino_t>, Node*> nodes_ CFFS_GUARDED_BY(mutex_);
};

// The directory's own descriptor.
inline int directory_of(fuse_req_t req, fuse_ino_t node) { return Nodes::of(req).at(node).descriptor(); }

// A descriptor for one operation on a file: the node's own for a directory, else a new one.
class Opened {
 public:
  Opened(fuse_req_t req, fuse_ino_t node, int flags);
  int get() const { return fd_; }
  // Calls that take no O_PATH descriptor take this.
  std::string name() const { return proc_path_of(fd_); }

 private:
  FileDescriptor owned_;
  int fd_ = -1;
};

}  // namespace cffs::bench::passthrough
