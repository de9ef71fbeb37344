// What is asked of the kernel when a mount begins: the same for cffs and for the pass-through that it is measured against.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

namespace cffs {

void configure_connection(fuse_conn_info* conn);

}  // namespace cffs
