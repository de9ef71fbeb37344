// The floor under every FUSE file system on this machine: files in memory, served by the same request loop with the same
// timeouts as cffs, without storage, locks, extended attributes or checks. What is slower than native here is the transport's
// price, which nobody above it can win back. What a file system with extended attributes is asked besides, a floor that answers shows.
// With the files' data in one file of a disk (pack.h) it is the transport's and that disk's.
#pragma once

#include <string>

#include "core/base/error.h"
#include "fusefs/transport.h"

namespace cffs::bench {

struct FloorOptions {
  std::string pack;             // the name of a new file for the files' data; empty: it is in memory
  bool answers_xattrs = false;  // says of each file that it has none, and does not refuse the question
  Transport transport = Transport::automatic;
};

// Serves until it is unmounted; then all files are gone.
Status serve_floor(const std::string& mount_point, const FloorOptions& options);

}  // namespace cffs::bench
