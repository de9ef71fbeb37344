// The floor under every FUSE file system on this machine: files in memory, served by the same request loop with the same
// timeouts as cffs, without storage, locks, extended attributes or checks. What is slower than native here is the transport's
// price, which nobody above it can win back.
#pragma once

#include <string>

#include "core/base/error.h"
#include "fusefs/transport.h"

namespace cffs::bench {

// Serves until it is unmounted; then all files are gone.
Status serve_floor(const std::string& mount_point, Transport transport = Transport::automatic);

}  // namespace cffs::bench
