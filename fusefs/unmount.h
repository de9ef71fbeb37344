// Unmounting, until the store is free for the next user.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.h"

namespace cffs {

struct UnmountOptions {
  std::string path;  // the mount point; with `force` also a store whose mount is gone from here
  // Detach although it is in use, and end the daemon although others hold copies of the mount. What was acknowledged is
  // made durable; who still uses the mount gets errors.
  bool force = false;
  std::function<void(const std::string&)> say;  // gets lines about what is waited for
};

struct UnmountEnd {
  int signal = 0;            // 0: the store is free; else what ended the waiting before that
  std::string problem;       // empty: then everything is on the medium, as far as can be seen from here
  std::string store, owner;  // whose mount it was, and "pid 17 on host", who then still has it
};
Result<UnmountEnd> unmount(const UnmountOptions& options);

}  // namespace cffs
