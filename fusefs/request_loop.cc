#include "fusefs/request_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/base/thread.h"
#include "fusefs/join_threads.h"

namespace cffs {
namespace {

constexpr std::chrono::microseconds kSpin{50};
constexpr int kMostCredit = 16;  // fruitless spins in a row before the leader sleeps at once
constexpr std::chrono::milliseconds kGather{2};
constexpr int kSleepPollMs = 500;  // stop() is noticed at least this often

}  // namespace

// One serving thread's view of its role.
class RequestLoop::Worker final : public BlockingObserver {
 public:
  explicit Worker(RequestLoop& loop) : loop_(loop) { BlockingObserver::set_for_this_thread(this); }
  ~Worker() override { BlockingObserver::set_for_this_thread(nullptr); }
  void about_to_block() override {
    if (!leads) return;
    leads = false;
    loop_.hand_over();
  }
  bool watches() override { return leads && loop_.short_waits_.expected(); }
  bool watch(const Ready& ready) override {
    return leads && loop_.short_waits_.look(ready, [this] { return loop_.has_request(); });
  }
  bool leads = false;

 private:
  RequestLoop& loop_;
};

RequestLoop::~RequestLoop() {
  stop();
  join_workers();
}

void RequestLoop::join_workers() {
  join_threads([this] {
    const MutexLock guard(mutex_);
    return std::exchange(threads_, {});
  });
}

void RequestLoop::stop() {
  fuse_session_exit(session_);
  const MutexLock guard(mutex_);
  over_ = true;
  role_free_.notify_all();
}

void RequestLoop::hand_over() {
  const MutexLock guard(mutex_);
  has_leader_ = false;
  if (waiting_ > 0) {
    role_free_.notify_one();
  } else if (threads_.size() < most_threads_ && !over_) {
    // Where there is no thread, whoever is served first receives again, as where all are busy.
    threads_.reserve(threads_.size() + 1);
    if (auto made = make_thread("a thread that serves", [this] { work(); }))
      threads_.push_back(std::move(*made));
  }
}

bool RequestLoop::has_request() const {
  pollfd waiting{fuse_session_fd(session_), POLLIN, 0};
  return ::poll(&waiting, 1, 0) != 0;  // an error is for whoever receives next, too
}

RequestLoop::Received RequestLoop::receive(fuse_buf& buffer, int& spin_credit) {
  using Clock = std::chrono::steady_clock;
  const int fd = fuse_session_fd(session_);
  bool gathers = expects_little_.load(std::memory_order_relaxed);
  const bool spins = !gathers && spin_credit > 0;
  const auto until = spins ? Clock::now() + kSpin : Clock::time_point();
  bool slept = false;
  for (;;) {
    if (fuse_session_exited(session_) != 0) return Received::end;
    const int n = fuse_session_receive_buf(session_, &buffer);
    if (n > 0) {
      // A request that came without sleep earns the next spin, one that had to be waited for costs a little.
      if (!slept) {
        spin_credit = kMostCredit;
      } else if (spin_credit < kMostCredit) {
        ++spin_credit;
      }
      return Received::request;
    }
    if (n == 0) return Received::end;  // unmounted
    if (n == -EINTR) continue;
    if (n != -EAGAIN) {
      const MutexLock guard(mutex_);
      problem_ = -n;
      return Received::end;
    }
    if (gathers) {
      gathers = false;
      std::this_thread::sleep_for(kGather);
      continue;
    }
    if (spins && !slept && Clock::now() < until) {
      sched_yield();  // a client that needs this core gets it
      continue;
    }
    if (spins && !slept) spin_credit -= 2;
    slept = true;
    pollfd waiting{fd, POLLIN, 0};
    (void)::poll(&waiting, 1, kSleepPollMs);
  }
}

void RequestLoop::work() {
  Worker self(*this);
  fuse_buf buffer{};
  int spin_credit = kMostCredit;
  MutexLock guard(mutex_);
  while (!over_) {
    if (has_leader_) {
      ++waiting_;
      while (has_leader_ && !over_) role_free_.wait(mutex_);
      --waiting_;
      continue;
    }
    has_leader_ = true;
    self.leads = true;
    guard.unlock();
    while (self.leads) {
      if (receive(buffer, spin_credit) == Received::end) {
        guard.lock();
        over_ = true;
        has_leader_ = false;
        self.leads = false;
        role_free_.notify_all();
        guard.unlock();
        break;
      }
      if (!intercept_ || !intercept_(buffer)) fuse_session_process_buf(session_, &buffer);
    }
    guard.lock();
  }
  guard.unlock();
  std::free(buffer.mem);  // NOLINT: libfuse allocates it with malloc
}

int RequestLoop::run() {
  const int fd = fuse_session_fd(session_);
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) return errno;
  work();
  join_workers();
  const MutexLock guard(mutex_);
  return problem_;
}

}  // namespace cffs
