// The floor under every FUSE file system on this machine: files in memory, served by the same request loop with the same
// timeouts as cffs, without storage, locks, extended attributes or checks. What is slower than native here is the transport's
// price, which nobody above it can win back. With the files' data in one file of a disk (pack.h) it is the transport's and that disk's.
#pragma once

#include <string>

#include "core/base/error.h"
#include "fusefs/transport.h"

namespace cffs::bench {

// Serves until it is unmounted; then all files are gone. `pack`: the name of a new file for their data; empty: it is in memory.
Status serve_floor(const std::string& mount_point, const std::string& pack = "",
                   Transport transport = Transport::automatic);

}  // namespace cffs::bench
