#include "fusefs/ring_transport.h"

#include <linux/fuse.h>

#include <algorithm>

#include "fusefs/kernel_ring.h"
#include "fusefs/ring_wire.h"

namespace cffs {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr unsigned kPagesUnlessSaid = 32;  // FUSE_DEFAULT_MAX_PAGES_PER_REQ
static_assert(kMostWrite >= kLeastRingPayload);

bool offers_ring(const fuse_init_in& offered) {
  return (offered.flags & FUSE_INIT_EXT) != 0 && (offered.flags2 & kOverIoUringInFlags2) != 0;
}

}  // namespace

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
  return transport;
}

void RingTransport::agreed(const Status& status) {
  has_agreed_ = true;
  active_ = static_cast<bool>(status);
  if (!status) crew_->stop();
  if (setup_.on_agreed) setup_.on_agreed(status);
}

InitAddition RingTransport::addition() {
  return {[](const fuse_init_in& offered, fuse_init_out& answer) {
            const std::size_t pages =
                (answer.flags & FUSE_MAX_PAGES) != 0 ? answer.max_pages : kPagesUnlessSaid;
            const std::size_t most = std::max<std::size_t>(answer.max_write, pages * kPageBytes);
            if (!offers_ring(offered) || most > kMostWrite) return false;
            answer.flags |= FUSE_INIT_EXT;
            answer.flags2 |= kOverIoUringInFlags2;
            return true;
          },
          [this] { agreed(crew_->begin()); }};
}

void RingTransport::init_is_answered() {
  if (!has_agreed_) agreed(fail(EOPNOTSUPP, "/dev/fuse"));
}

void RingTransport::end() {
  active_ = false;
  crew_->stop();
  crew_->join();
}

}  // namespace cffs
