// What the kernel does about access times and symbolic links on a mount, where libfuse has no word for it.
#pragma once

#include <string>

#include "core/base/error.h"
#include "fusefs/mount_options.h"

namespace cffs {

// Tells the kernel of a mount that is there (mount_setattr(2), Linux 5.12). The daemon keeps access times itself, so that they
// are for show, and it is no error where the kernel cannot be told; that links are not followed must hold, or is an error.
Status set_mount_attributes(const std::string& mount_point, const MountOptions& options);

}  // namespace cffs
