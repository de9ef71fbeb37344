#include "fusefs/connection.h"

namespace cffs {

void configure_connection(fuse_conn_info* conn) {
  const auto want = [conn](unsigned flag) {
    if ((conn->capable & flag) != 0) conn->want |= flag;
  };
  conn->want &= ~static_cast<unsigned>(
      FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
      FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_AUTO_INVAL_DATA);
  // Its second version is what is agreed on (clearing_privileges(), init_reply.h). libfuse 3.14 never sent this one, 3.17 does.
  conn->want &= ~static_cast<unsigned>(FUSE_CAP_HANDLE_KILLPRIV);
  // libfuse asks for it by itself. The kernel drops cached pages before a direct write that it answers later, and not again
  // when that is done: what was read meanwhile would stay in the cache as it was.
  conn->want &= ~static_cast<unsigned>(FUSE_CAP_ASYNC_DIO);
  want(FUSE_CAP_ASYNC_READ);
  want(FUSE_CAP_PARALLEL_DIROPS);
  want(FUSE_CAP_READDIRPLUS);
  want(FUSE_CAP_CACHE_SYMLINKS);
  want(FUSE_CAP_EXPLICIT_INVAL_DATA);  // nobody but the kernel changes a file behind its cache
  want(FUSE_CAP_NO_OPEN_SUPPORT);
  want(FUSE_CAP_NO_OPENDIR_SUPPORT);
  conn->max_write = kMostWrite;
  conn->max_readahead = 1u << 20;
  conn->max_background = 64;
  conn->congestion_threshold = 48;
  conn->time_gran = 1;
}

fuse_session* new_session(std::vector<std::string> arguments, const fuse_lowlevel_ops& operations,
                          void* user) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  fuse_session* session = fuse_session_new(&args, &operations, sizeof operations, user);
  fuse_opt_free_args(&args);
  return session;
}

}  // namespace cffs
