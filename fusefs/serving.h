// One mount, from the store's opening to its closing, in the process that serves it.
#pragma once

#include <string>

#include "fusefs/mount_options.h"
#include "fusefs/readiness.h"

namespace cffs {

// Returns when the mount ended and everything is durable. Reports that it is ready once requests are answered; a problem
// before that is returned, not reported. Both paths are absolute.
Status serve(const MountOptions& options, const std::string& store, const std::string& mount_point,
             Readiness& readiness);

// libfuse's arguments for these options, the program's name first. `is_private`: nobody but root could have put anything into
// the store; else set-user-ID bits and devices in it mean nothing, unless the options ask for them. `as_device`: the store is a block device,
// and mounted as one.
std::vector<std::string> fuse_arguments(const MountOptions& options, const std::string& store,
                                        bool is_private, bool as_device = false);

}  // namespace cffs
