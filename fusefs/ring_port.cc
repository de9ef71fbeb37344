#include "fusefs/ring_port.h"

#include <poll.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cffs {
namespace {

constexpr unsigned kSubmissions = 4;  // one command at a time, and once the poll
constexpr std::uint64_t kEntry = 1;   // user data of completions
constexpr std::uint64_t kStop = 2;
constexpr int kDevice = 0;  // the device's place among the ring's own files
constexpr std::uint16_t kNoQueue = 0xffff;

}  // namespace

Result<std::unique_ptr<RingPort>> RingPort::open(int device, int stop_event) {
  std::unique_ptr<RingPort> port(new RingPort());
  // Completions are worked off when the thread asks for them, and interrupt nothing else that it does.
  io_uring_params params{};
  params.flags = IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
  if (const int made = io_uring_queue_init_params(kSubmissions, &port->ring_, &params); made < 0)
    return fail(-made, "io_uring");
  port->is_open_ = true;
  if (const int done = io_uring_register_files(&port->ring_, &device, 1); done < 0)
    return fail(-done, "io_uring");
  (void)io_uring_register_ring_fd(&port->ring_);  // spares a look-up; nothing depends on it
  io_uring_sqe* sqe = io_uring_get_sqe(&port->ring_);
  if (sqe == nullptr) std::abort();  // none was taken yet
  io_uring_prep_poll_add(sqe, stop_event, POLLIN);
  sqe->user_data = kStop;
  if (const int done = io_uring_submit(&port->ring_); done < 0) return fail(-done, "io_uring");
  return port;
}

RingPort::~RingPort() {
  if (is_open_) io_uring_queue_exit(&ring_);
}

io_uring_sqe* RingPort::command(RingCommandKind kind, std::uint16_t queue, std::uint64_t commit_id) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) std::abort();  // each command is submitted before the next
  io_uring_prep_rw(IORING_OP_URING_CMD, sqe, kDevice, nullptr, 0, 0);
  sqe->flags = IOSQE_FIXED_FILE;
  sqe->cmd_op = static_cast<std::uint32_t>(kind);
  sqe->user_data = kEntry;
  const RingCommand own{0, commit_id, queue, {}};
  std::memcpy(sqe->cmd, &own, sizeof own);
  return sqe;
}

// An answer that is there at once is a refusal, or the first request, which is left for wait().
Status RingPort::submit_entry(std::uint16_t queue, const RingMessage& message) {
  io_uring_sqe* sqe = command(RingCommandKind::register_entry, queue, 0);
  sqe->addr = reinterpret_cast<std::uint64_t>(message.buffers());
  sqe->len = 2;
  int submitted = 0;
  do {
    submitted = io_uring_submit(&ring_);
  } while (submitted == -EINTR || submitted == -EAGAIN);
  if (submitted < 0) return fail(-submitted, "io_uring");
  io_uring_cqe* completion = nullptr;
  if (io_uring_peek_cqe(&ring_, &completion) != 0 || completion->user_data != kEntry || completion->res >= 0)
    return {};
  const int refused = -completion->res;
  io_uring_cqe_seen(&ring_, completion);
  return fail(refused, "/dev/fuse");
}

Status RingPort::register_entry(std::uint16_t queue, const RingMessage& message) {
  return submit_entry(queue, message);
}

bool RingPort::withdraw(const RingMessage& message) {
  const Status refused = submit_entry(kNoQueue, message);
  return !refused && refused.error().errno_value == EINVAL;
}

void RingPort::commit(std::uint16_t queue, std::uint64_t commit_id) {
  (void)command(RingCommandKind::commit_and_fetch, queue, commit_id);
}

RingPort::Event RingPort::meaning(const io_uring_cqe& completion) const {
  if (completion.user_data == kStop) return Event::stopped;
  switch (completion.res) {
    case 0:
      return Event::request;
    case -ENOTCONN:
    case -ECONNABORTED:
    case -ECANCELED:
    case -ENODEV:
      return Event::ended;
    default:
      return Event::lost;
  }
}

RingPort::Event RingPort::wait() {
  for (;;) {
    io_uring_cqe* completion = nullptr;
    if (io_uring_sq_ready(&ring_) > 0 || io_uring_peek_cqe(&ring_, &completion) != 0) {
      const int n = io_uring_submit_and_wait(&ring_, 1);
      if (n < 0 && n != -EINTR && n != -EAGAIN && n != -EBUSY) return Event::lost;
      if (io_uring_peek_cqe(&ring_, &completion) != 0) continue;
    }
    const Event event = meaning(*completion);
    io_uring_cqe_seen(&ring_, completion);
    return event;
  }
}

}  // namespace cffs
