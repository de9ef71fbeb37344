#include "bench/passthrough/serve.h"

#include <unistd.h>

#include <cstdio>

#include "fusefs/connection.h"
#include "fusefs/request_server.h"

namespace cffs::bench {

Status serve_until_unmounted(const std::string& name, const std::string& options,
                             const fuse_lowlevel_ops& operations, void* user, const std::string& mount_point,
                             unsigned threads, Transport transport) {
  CFFS_TRY_VOID(check_transport(transport));
  std::vector<std::string> words{name, "-o", "default_permissions,subtype=" + name};
  if (!options.empty()) words.back() += "," + options;
  if (::geteuid() == 0) words.back() += ",allow_other";
  fuse_session* session = new_session(std::move(words), operations, user);
  if (session == nullptr || fuse_session_mount(session, mount_point.c_str()) != 0) {
    if (session != nullptr) fuse_session_destroy(session);
    return fail(Error::usage("cannot mount on " + mount_point + "; is /dev/fuse there, and may you use it? cffs doctor says what lacks"));
  }
  Status result;
  {
    Mutex alone;
    RequestServer::Setup setup;
    setup.session = session;
    setup.threads = threads;
    setup.transport = transport;
    if (threads == 1) {
      setup.intercept = [&alone, session](const fuse_buf& request) {
        const MutexLock guard(alone);
        fuse_session_process_buf(session, &request);
        return true;
      };
    }
    setup.log = [&name](const std::string& line) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), line.c_str());
    };
    RequestServer server(std::move(setup));
    result = server.begin();
    if (result) {
      if (const int problem = server.run(); problem != 0) result = fail(problem, "/dev/fuse");
    }
    if (result) result = server.refusal();
  }
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return result;
}

}  // namespace cffs::bench
