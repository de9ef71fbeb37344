// Watches a mount's requests: what the kernel asked for, who asked, and what came of it.
//
// Only what the kernel's caches do not answer reaches a mount. observe() is called from the serving threads before the
// reply is sent, so what follows from a request is observed behind it (a readdir's entries: while it is made); views are valid during the call. Not told of: forgets, statfs,
// lseek, allocations that do not grow a file, virtual attributes, unnamed files until they get a name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/error.h"
#include "core/base/ids.h"

namespace cffs {

struct ObservedRequest {
  enum class What {
    lookup,       // parent, name -> node, mode, size
    entry,        // parent, name -> node, mode, size: a readdir told about it
    mknod,        // parent, name, mode -> node
    mkdir,        // the same
    symlink,      // parent, name, second_name: the target -> node
    link,         // node gets parent, name
    unlink,       // parent, name
    rmdir,        // parent, name
    rename,       // parent, name to second_parent, second_name; flags
    readlink,     // node
    readdir,      // node; from the start
    getattr,      // node -> mode, size
    chmod,        // node, mode
    chown,        // node
    utimens,      // node
    truncate,     // node, length
    getxattr,     // node, name
    setxattr,     // node, name, length
    listxattr,    // node
    removexattr,  // node, name
    read,         // node, offset, length -> result: bytes
    write,        // the same
    fsync,        // node
  };
  What what = What::lookup;
  InodeId node, parent, second_parent;
  std::string_view name, second_name;
  std::uint64_t offset = 0, length = 0;
  std::uint32_t mode = 0, flags = 0;
  std::uint64_t size = 0;
  std::int64_t result = 0;  // or -errno
  pid_t process = 0;
  std::int64_t start_ns = 0, end_ns = 0;  // steady clock
};

class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  virtual void observe(const ObservedRequest& request) = 0;
  // The mount is over: nothing comes any more. Unless it `served`, nothing did either, and what an earlier mount left is not touched;
  // nor is it where this is not called.
  virtual Status end(bool served) = 0;
};

}  // namespace cffs
