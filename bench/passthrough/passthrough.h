// A FUSE pass-through: the baseline "FUSE + the same file system" of the composite-file paper, tuned as cffs is tuned, so
// that what remains between the two is the design and not the plumbing.
//
// Same request loop, same infinite timeouts, same refusal of OPEN, OPENDIR, CREATE and FLUSH: a cold read costs LOOKUP and
// READ here too, a new file LOOKUP, MKNOD, WRITE. A directory's node keeps a descriptor, a file's node a file handle:
// descriptors are scarcer than files. What may wait for the device (a lookup outside the kernel's cache, a read outside the
// page cache, a sync) is announced, so slow requests do not hold up fast ones.
#pragma once

#include <string>

#include "core/base/error.h"
#include "fusefs/transport.h"

namespace cffs::bench {

// Serves `directory` at `mount_point` until it is unmounted.
Status serve_passthrough(const std::string& directory, const std::string& mount_point,
                         Transport transport = Transport::automatic);

}  // namespace cffs::bench
