// Mounting, from the store's directory to the served request.
#pragma once

#include "fusefs/mount_options.h"

namespace cffs {

// Mounts and serves. In the foreground it returns when the mount ends; else it returns as soon as the mount
// answers, and a daemon serves on. Errors say what was wrong with the store, the mount point or an option.
// With `remount` the mount is there already: its flags (ro, nosuid, ...) change, nothing else.
Status mount_store(const MountOptions& options);

// Of libfuse, as it is loaded: for reports.
std::string fuse_library_version();

}  // namespace cffs
