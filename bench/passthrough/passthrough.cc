#include "bench/passthrough/passthrough.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "bench/passthrough/nodes.h"
#include "bench/passthrough/operations.h"
#include "bench/passthrough/serve.h"
#include "fusefs/connection.h"

namespace cffs::bench {

Status serve_passthrough(const std::string& directory, const std::string& mount_point, Transport transport) {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;  // every directory the kernel knows takes one
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  (void)::umask(0);
  FileDescriptor readable(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable) return fail(errno, directory);
  passthrough::Nodes nodes(FileDescriptor(::open(directory.c_str(), O_PATH | O_CLOEXEC)),
                           std::move(readable));
  fuse_lowlevel_ops ops{};
  ops.init = [](void*, fuse_conn_info* conn) { configure_connection(conn); };
  passthrough::add_name_operations(ops);
  passthrough::add_attribute_operations(ops);
  passthrough::add_data_operations(ops);
  std::string source;
  for (const char c : directory) source += c == ',' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return serve_until_unmounted("passthrough", "suid,dev,fsname=" + source, ops, &nodes, mount_point, 16,
                               transport);
}

}  // namespace cffs::bench
