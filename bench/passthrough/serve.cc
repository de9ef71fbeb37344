#include "bench/passthrough/serve.h"

#include <unistd.h>

#include "fusefs/connection.h"
#include "fusefs/request_loop.h"

namespace cffs::bench {

Status serve_until_unmounted(const std::string& name, const std::string& options,
                             const fuse_lowlevel_ops& operations, void* user, const std::string& mount_point,
                             unsigned threads) {
  std::vector<std::string> words{name, "-o", "default_permissions,subtype=" + name};
  if (!options.empty()) words.back() += "," + options;
  if (::geteuid() == 0) words.back() += ",allow_other";
  fuse_session* session = new_session(std::move(words), operations, user);
  if (session == nullptr || fuse_session_mount(session, mount_point.c_str()) != 0) {
    if (session != nullptr) fuse_session_destroy(session);
    return fail(Error::usage("cannot mount on " + mount_point + "; is /dev/fuse there, and may you use it?"));
  }
  int problem = 0;
  {
    RequestLoop loop(session, threads);
    problem = loop.run();
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  if (problem != 0) return fail(problem, "/dev/fuse");
  return {};
}

}  // namespace cffs::bench
