// The requests that the pass-through answers, by what they are about; how a call ended is the answer.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <cerrno>

namespace cffs::bench::passthrough {

void add_name_operations(fuse_lowlevel_ops& ops);  // nodes.h: found, made, removed, forgotten
void add_attribute_operations(
    fuse_lowlevel_ops& ops);  // extended ones, symlinks' targets and the file system's too
void add_data_operations(fuse_lowlevel_ops& ops);  // of files and directories

// Of a call that returns 0, or -1 and errno.
inline void reply_result(fuse_req_t req, int result) { fuse_reply_err(req, result == 0 ? 0 : errno); }

}  // namespace cffs::bench::passthrough
