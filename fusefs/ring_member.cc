#include "fusefs/ring_member.h"

#include <cerrno>
#include <chrono>
#include <new>

namespace cffs {
namespace {

constexpr std::chrono::milliseconds kStopIsNoticed{100};  // by one who waits for another's reply

}  // namespace

RingMember::RingMember(RingCrew& crew, std::uint16_t queue) : crew_(crew), queue_(queue) {
  BlockingObserver::set_for_this_thread(this);
  ReplyRoute::set_for_this_thread(this);
  known_.emplace(*this);
}

RingMember::~RingMember() {
  known_.reset();
  ReplyRoute::set_for_this_thread(nullptr);
  BlockingObserver::set_for_this_thread(nullptr);
}

Status RingMember::prepare() {
  CFFS_TRY(RingMessage message, RingMessage::make(crew_.setup().payload_bytes));
  message_.emplace(std::move(message));
  CFFS_TRY(port_, RingPort::open(crew_.setup().device, crew_.stop_event()));
  return {};
}

Status RingMember::enter() { return port_->register_entry(queue_, *message_); }

void RingMember::serve() {
  std::atomic<int>& free_threads = crew_.free_threads(queue_);  // whoever made this thread has counted it
  for (;;) {
    const RingPort::Event event = port_->wait();
    --free_threads;
    if (event == RingPort::Event::request) {
      serve_one();
      if (serving_.exchange(0) != 0) port_->commit(queue_, message_->commit_id());
    } else if (event == RingPort::Event::lost) {
      if (!enter()) return crew_.setup().on_breakdown();
    } else {
      return;
    }
    ++free_threads;
  }
}

// Afterwards the reply is in the message, or the crew is being stopped.
void RingMember::serve_one() {
  answered_ = announced_ = false;
  const auto request = message_->open();
  serving_ = message_->unique();
  if (!request) {
    message_->answer_error(EIO);
    return message_->seal();
  }
  crew_.setup().serve(*request);
  if (!answered_ && !answered_from_elsewhere()) {
    serving_ = 0;
    return;
  }
  message_->seal();
}

bool RingMember::answered_from_elsewhere() {
  about_to_block();
  const MutexLock guard(mutex_);
  while (!elsewhere_) {
    if (crew_.is_over()) return false;
    (void)changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kStopIsNoticed);
  }
  elsewhere_ = false;
  return true;
}

void RingMember::about_to_block() {
  if (announced_) return;
  announced_ = true;
  crew_.about_to_block(queue_);
}

// Somebody else of the queue takes what comes meanwhile; the client sleeps, so its processor is free.
bool RingMember::watch(const Ready& ready) {
  about_to_block();
  return short_waits_.look(ready);
}

ssize_t RingMember::put(const iovec* pieces, int count) {
  ssize_t size = 0;
  for (int i = 0; i < count; ++i) size += static_cast<ssize_t>(pieces[i].iov_len);
  try {
    const Status answered = message_->answer(pieces, count);
    if (answered) return size;
    message_->answer_error(EIO);
    errno = answered.error().errno_value;
  } catch (const std::bad_alloc&) {  // libfuse's frames are between here and whoever replies
    message_->answer_error(ENOMEM);
    errno = ENOMEM;
  }
  return -1;
}

std::optional<ssize_t> RingMember::take(const iovec* pieces, int count) {
  const std::uint64_t unique = unique_of_reply(pieces, count);
  if (unique == 0 || unique != serving_.load(std::memory_order_relaxed) || answered_) return {};
  answered_ = true;
  return put(pieces, count);
}

std::optional<ssize_t> RingMember::take_from_elsewhere(int device, const iovec* pieces, int count) {
  const MutexLock guard(mutex_);
  if (device != crew_.setup().device || unique_of_reply(pieces, count) != serving_.load() || elsewhere_)
    return {};
  const ssize_t done = put(pieces, count);
  elsewhere_ = true;
  changed_.notify_all();
  return done;
}

std::byte* RingMember::room(std::size_t bytes) {
  return serving_.load(std::memory_order_relaxed) != 0 && message_ ? message_->room(bytes) : nullptr;
}

}  // namespace cffs
