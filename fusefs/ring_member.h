// One thread of the crew that serves a mount over io_uring, with the one entry that it has.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/mutex.h"
#include "core/object/blocking_section.h"
#include "fusefs/reply_route.h"
#include "fusefs/ring_crew.h"
#include "fusefs/ring_message.h"
#include "fusefs/ring_port.h"
#include "fusefs/short_waits.h"

namespace cffs {

// Everything but take_from_elsewhere() on its own thread.
class RingMember final : public BlockingObserver, public ReplyRoute {
 public:
  RingMember(RingCrew& crew, std::uint16_t queue);
  ~RingMember() override;

  // Its io_uring and its memory.
  Status prepare();
  // Its entry: the queue may give it requests.
  Status enter();
  // Where enter() failed: whether the kernel knows that there will be no ring.
  bool withdraw() { return port_->withdraw(*message_); }
  // Until the crew is stopped or the mount is over.
  void serve();

  void about_to_block() override;
  bool watches() override { return short_waits_.expected(); }
  bool watch(const Ready& ready) override;
  std::optional<ssize_t> take(const iovec* pieces, int count) override;
  std::optional<ssize_t> take_from_elsewhere(int device, const iovec* pieces, int count) override;
  std::byte* room(std::size_t bytes) override;

 private:
  void serve_one();
  ssize_t put(const iovec* pieces, int count);
  bool answered_from_elsewhere();

  RingCrew& crew_;
  const std::uint16_t queue_;
  std::optional<RingMessage> message_;  // before the port, whose entry has its addresses
  std::unique_ptr<RingPort> port_;
  std::optional<KnownRoute> known_;
  std::atomic<std::uint64_t> serving_{0};  // the request's unique; 0: none
  bool answered_ = false;                  // on this thread
  bool announced_ = false;                 // that it blocks
  ShortWaits short_waits_;
  Mutex mutex_;
  CondVar changed_;
  bool elsewhere_ CFFS_GUARDED_BY(mutex_) = false;  // another thread has answered
};

}  // namespace cffs
