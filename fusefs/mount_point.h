// The directory that a store is mounted on, before and after.
#pragma once

#include <string>

#include "core/base/error.h"

namespace cffs {

// Without links and dots. Errors name the path.
Result<std::string> absolute(const std::string& path);
// Whether a store may be mounted there: a directory on which nothing is mounted. Waits for a mount whose daemon is just leaving, 2 s.
Status check_mount_point(const std::string& path);
// The kernel gives a FUSE mount a readahead of 128 KiB at most; a large file then costs eight requests a MiB. Root may
// raise it; nobody else needs to know.
void raise_readahead(const std::string& mount_point);

}  // namespace cffs
