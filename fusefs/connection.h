// What is asked of the kernel when a mount begins: the same for cffs and for the pass-through that it is measured against.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <string>
#include <vector>

namespace cffs {

// Bytes of the largest request or reply.
inline constexpr unsigned kMostWrite = 1u << 20;

void configure_connection(fuse_conn_info* conn);
// A session with these arguments, the program's name first; null: libfuse refuses them.
fuse_session* new_session(std::vector<std::string> arguments, const fuse_lowlevel_ops& operations,
                          void* user);

}  // namespace cffs
