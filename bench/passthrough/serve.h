// A FUSE file system of the benchmarks, served by cffs's own request loop until it is unmounted.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <string>
#include <vector>

#include "core/base/error.h"
#include "fusefs/transport.h"

namespace cffs::bench {

// `options`: those of mount(8), after default_permissions and the subtype NAME. `threads`: at most; with one, requests are served
// one at a time whatever the transport.
Status serve_until_unmounted(const std::string& name, const std::string& options,
                             const fuse_lowlevel_ops& operations, void* user, const std::string& mount_point,
                             unsigned threads, Transport transport);

}  // namespace cffs::bench
