#include "fusefs/request_server.h"

namespace cffs {

RequestServer::RequestServer(Setup setup)
    : setup_(std::move(setup)), loop_(setup_.session, setup_.threads, [this](const fuse_buf& request) {
        if (!is_init(request)) return setup_.intercept && setup_.intercept(request);
        answer_init(request);
        return true;
      }) {}

void RequestServer::answer_init(const fuse_buf& request) {
  std::vector<InitAddition> additions = setup_.additions;
  if (ring_) additions.push_back(ring_->addition());
  {
    const InitReply route(setup_.session, request, additions);
    fuse_session_process_buf(setup_.session, &request);
  }
  if (ring_) ring_->init_is_answered();
}

Status RequestServer::begin() {
  CFFS_TRY_VOID(route_replies(setup_.session));
  if (setup_.transport == Transport::device) return {};
  CFFS_TRY_VOID(check_transport(setup_.transport));
  if (!ring_is_on()) return {};
  RingTransport::Setup ring;
  ring.session = setup_.session;
  ring.threads = setup_.threads;
  ring.serve = [this](const fuse_buf& request) { serve(request); };
  ring.on_breakdown = [this] {
    if (setup_.complain) setup_.complain("a queue of io_uring can be served no more; the mount ends");
    stop();
  };
  ring.on_agreed = [this](const Status& with_kernel) { agreed(with_kernel); };
  auto made = RingTransport::make(std::move(ring));
  if (made) {
    ring_ = std::move(*made);
  } else if (setup_.transport == Transport::ring) {
    return fail(no_ring(made.error()));
  } else if (setup_.log) {
    setup_.log("requests come by /dev/fuse: " + no_ring(made.error()).message());
  }
  return {};
}

void RequestServer::serve(const fuse_buf& request) {
  if (!setup_.intercept || !setup_.intercept(request)) fuse_session_process_buf(setup_.session, &request);
}

void RequestServer::agreed(const Status& with_kernel) {
  if (with_kernel) {
    loop_.expect_little();
  } else {
    const Error why = no_ring(with_kernel.error());
    if (setup_.transport == Transport::ring) {
      const MutexLock guard(mutex_);
      refusal_ = fail(why);
    } else if (setup_.log) {
      setup_.log("requests come by /dev/fuse: " + why.message());
    }
  }
  if (setup_.on_agreed) setup_.on_agreed(static_cast<bool>(with_kernel));
}

Status RequestServer::refusal() {
  const MutexLock guard(mutex_);
  return refusal_;
}

int RequestServer::run() {
  const int problem = loop_.run();
  if (ring_) ring_->end();
  return problem;
}

}  // namespace cffs
