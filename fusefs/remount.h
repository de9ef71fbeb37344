// mount -o remount: other flags for a mount that is there.
#pragma once

#include "fusefs/mount_options.h"

namespace cffs {

// Changes what the kernel checks (ro, nosuid, nodev, noexec, ...), nothing else.
Status remount(const MountOptions& options);

}  // namespace cffs
