#include "fusefs/ring_transport.h"

#include <linux/fuse.h>

#include <algorithm>
#include <cstring>

#include "fusefs/kernel_ring.h"
#include "fusefs/reply_route.h"
#include "fusefs/ring_wire.h"
#include "fusefs/wire.h"

namespace cffs {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr unsigned kPagesUnlessSaid = 32;  // FUSE_DEFAULT_MAX_PAGES_PER_REQ
static_assert(kMostWrite >= kLeastRingPayload);

bool offers_ring(const fuse_buf& request) {
  fuse_init_in in{};
  if (request.size < sizeof(fuse_in_header) + sizeof in) return false;
  std::memcpy(&in, static_cast<const char*>(request.mem) + sizeof(fuse_in_header), sizeof in);
  return (in.flags & FUSE_INIT_EXT) != 0 && (in.flags2 & kOverIoUringInFlags2) != 0;
}

}  // namespace

// The reply to INIT on its way to the device: says that the ring is wanted.
class RingTransport::InitReply final : public ReplyRoute {
 public:
  InitReply(RingTransport& transport, std::uint64_t unique, bool is_offered)
      : transport_(transport), unique_(unique), is_offered_(is_offered) {
    ReplyRoute::set_for_this_thread(this);
  }
  ~InitReply() override { ReplyRoute::set_for_this_thread(nullptr); }

  std::optional<ssize_t> take(const iovec* pieces, int count) override {
    fuse_out_header header;
    if (!is_offered_ || count != 2 || unique_of_reply(pieces, count) != unique_ ||
        pieces[0].iov_len != sizeof header || pieces[1].iov_len < sizeof(fuse_init_out)) {
      return {};
    }
    std::memcpy(&header, pieces[0].iov_base, sizeof header);
    fuse_init_out out;
    std::memcpy(&out, pieces[1].iov_base, sizeof out);
    const std::size_t pages = (out.flags & FUSE_MAX_PAGES) != 0 ? out.max_pages : kPagesUnlessSaid;
    if (header.error != 0 || std::max<std::size_t>(out.max_write, pages * kPageBytes) > kMostWrite) return {};
    out.flags |= FUSE_INIT_EXT;
    out.flags2 |= kOverIoUringInFlags2;
    iovec changed[2] = {pieces[0], {&out, sizeof out}};
    const ssize_t written = ::writev(fuse_session_fd(transport_.setup_.session), changed, 2);
    if (written >= 0) transport_.agreed(transport_.crew_->begin());
    return written;
  }
  std::optional<ssize_t> take_from_elsewhere(int, const iovec*, int) override { return {}; }
  std::byte* room(std::size_t) override { return nullptr; }

 private:
  RingTransport& transport_;
  const std::uint64_t unique_;
  const bool is_offered_;
};

Result<std::unique_ptr<RingTransport>> RingTransport::make(Setup setup) {
  std::unique_ptr<RingTransport> transport(new RingTransport(std::move(setup)));
  const Setup& wanted = transport->setup_;
  RingCrewSetup crew;
  crew.device = fuse_session_fd(wanted.session);
  crew.queues = possible_processors();
  crew.most_threads = wanted.threads;
  crew.payload_bytes = wanted.payload_bytes;
  crew.serve = wanted.serve;
  crew.on_breakdown = wanted.on_breakdown;
  CFFS_TRY(transport->crew_, RingCrew::make(std::move(crew)));
  CFFS_TRY_VOID(route_replies(wanted.session));
  return transport;
}

void RingTransport::agreed(const Status& status) {
  has_agreed_ = true;
  active_ = static_cast<bool>(status);
  if (!status) crew_->stop();
  if (setup_.on_agreed) setup_.on_agreed(status);
}

bool RingTransport::negotiate(const fuse_buf& request) {
  fuse_in_header header;
  if (!read_header(request, header) || header.opcode != FUSE_INIT) return false;
  {
    const InitReply route(*this, header.unique, offers_ring(request));
    fuse_session_process_buf(setup_.session, &request);
  }
  if (!has_agreed_) agreed(fail(EOPNOTSUPP, "/dev/fuse"));
  return true;
}

void RingTransport::end() {
  active_ = false;
  crew_->stop();
  crew_->join();
}

}  // namespace cffs
