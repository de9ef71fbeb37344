// Serves a session's requests until the mount ends: over io_uring where that is wanted and to be had (ring_transport.h), and
// by the device (request_loop.h), by which INIT, FORGET and INTERRUPT come in any case.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "fusefs/init_reply.h"
#include "fusefs/request_loop.h"
#include "fusefs/ring_transport.h"
#include "fusefs/transport.h"

namespace cffs {

class RequestServer {
 public:
  struct Setup {
    fuse_session* session = nullptr;  // mounted
    unsigned threads =
        16;  // as many requests are served at a time; over io_uring one for each processor at least
    Transport transport = Transport::automatic;
    // Agreed on with the kernel beside what libfuse and the transport do.
    std::vector<InitAddition> additions = {};
    // May answer a request before libfuse sees it (true). Called from all threads that serve.
    std::function<bool(const fuse_buf&)> intercept = nullptr;
    std::function<void(const std::string&)> log = nullptr, complain = nullptr;
    // The kernel has answered whether requests come over io_uring. With Transport::device it is not asked.
    std::function<void(bool over_ring)> on_agreed = nullptr;
  };
  explicit RequestServer(Setup setup);

  // Before run(). An error: io_uring is wanted and not to be had.
  Status begin();
  // Returns when the file system is unmounted or stop() was called. 0, or an errno.
  int run();
  // From any thread.
  void stop() { loop_.stop(); }
  // Once the kernel has answered: the error where io_uring is wanted and it refused. Then somebody is to stop() it.
  Status refusal();

 private:
  void serve(const fuse_buf& request);
  void answer_init(const fuse_buf& request);
  void agreed(const Status& with_kernel);

  const Setup setup_;
  RequestLoop loop_;
  std::unique_ptr<RingTransport> ring_;
  Mutex mutex_;
  Status refusal_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
