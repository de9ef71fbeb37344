#include "bench/passthrough/passthrough.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <vector>

#include "bench/passthrough/nodes.h"
#include "bench/passthrough/operations.h"
#include "fusefs/connection.h"
#include "fusefs/request_loop.h"

namespace cffs::bench {

Status serve_passthrough(const std::string& directory, const std::string& mount_point) {
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
  std::vector<std::string> words{"passthrough", "-o",
                                 "suid,dev,default_permissions,subtype=passthrough,fsname=" + source};
  if (::geteuid() == 0) words.back() += ",allow_other";
  fuse_session* session = new_session(std::move(words), ops, &nodes);
  if (session == nullptr || fuse_session_mount(session, mount_point.c_str()) != 0) {
    if (session != nullptr) fuse_session_destroy(session);
    return fail(Error::usage("cannot mount on " + mount_point + "; is /dev/fuse there, and may you use it?"));
  }
  int problem = 0;
  {
    RequestLoop loop(session, 16);
    problem = loop.run();
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  if (problem != 0) return fail(problem, "/dev/fuse");
  return {};
}

}  // namespace cffs::bench
