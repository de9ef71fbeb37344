#include "fusefs/request_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/base/thread.h"
#include "fusefs/join_threads.h"

namespace cffs {
namespace {

constexpr std::chrono::microseconds kSpin{50};
constexpr int kMostCredit = 16;  // fruitless spins in a row before the leader sleeps at once
constexpr std::chrono::milliseconds kGather{2};
constexpr std::chrono::milliseconds kNoMemory{100};
constexpr int kSleepPollMs = 500;  // stop() is noticed at least this often

}  // namespace

// One serving thread's view of its role.
class RequestLoop::Worker final : public BlockingObserver, public Parking, public ParkedRequests::Runner {
 public:
  explicit Worker(RequestLoop& loop) : loop_(loop) {
    BlockingObserver::set_for_this_thread(this);
    Parking::set_for_this_thread(this);
  }
  ~Worker() override {
    Parking::set_for_this_thread(nullptr);
    BlockingObserver::set_for_this_thread(nullptr);
  }

  void about_to_block() override {
    if (!leads) return;
    leads = false;
    loop_.hand_over();
  }
  bool may_leave() override {
    if (!leads || run_ == Run::last) return false;
    return run_ == Run::again || loop_.parked_.wants_one();
  }
  void park(std::unique_ptr<ParkedRequest> request) override {
    if (leads) return loop_.parked_.park(std::move(request));
    while (!run(*request, true)) continue;  // it had to wait on its way out
  }
  bool run(ParkedRequest& request, bool last) override {
    run_ = last ? Run::last : Run::again;
    const bool answered = request.resume();
    run_ = Run::first;
    return answered;
  }
  bool looks() const override { return leads; }

  bool leads = false;

 private:
  enum class Run { first, again, last };
  RequestLoop& loop_;
  Run run_ = Run::first;
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
    // Where there is no thread, or no memory for it, whoever is served first receives again, as where all are busy.
    try {
      threads_.reserve(threads_.size() + 1);
    } catch (const std::bad_alloc&) {
      return;
    }
    if (auto made = make_thread("a thread that serves", [this] { work(); }))
      threads_.push_back(std::move(*made));
  }
}

RequestLoop::Received RequestLoop::receive(Worker& self, fuse_buf& buffer, int& spin_credit) {
  using SteadyClock = std::chrono::steady_clock;
  const int fd = fuse_session_fd(session_);
  bool gathers = expects_little_.load(std::memory_order_relaxed);
  const bool spins = !gathers && spin_credit > 0;
  auto until = spins ? SteadyClock::now() + kSpin : SteadyClock::time_point();
  bool slept = false, crowded = false;
  for (;;) {
    if (fuse_session_exited(session_) != 0) return Received::end;
    if (!parked_.empty()) {
      parked_.look(self, crowded);
      if (!self.leads) return Received::role_is_gone;
    }
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
    if (n == -ENOMEM) return Received::no_memory;
    if (n != -EAGAIN) {
      const MutexLock guard(mutex_);
      problem_ = -n;
      return Received::end;
    }
    if (!parked_.empty()) {
      const auto before = SteadyClock::now();
      sched_yield();  // a client that needs this core gets it
      const auto now = SteadyClock::now();
      crowded = now - before > ShortWaits::kCrowded;
      if (spins) until = now + kSpin;
      continue;
    }
    if (gathers) {
      gathers = false;
      std::this_thread::sleep_for(kGather);
      continue;
    }
    if (spins && !slept && SteadyClock::now() < until) {
      sched_yield();
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
      const Received received = receive(self, buffer, spin_credit);
      if (received == Received::role_is_gone) break;
      if (received == Received::end) {
        guard.lock();
        over_ = true;
        has_leader_ = false;
        self.leads = false;
        role_free_.notify_all();
        guard.unlock();
        break;
      }
      if (received == Received::no_memory) {
        // Of libfuse's for this thread's buffer. Others have theirs: who has served, or waits for the role, receives meanwhile.
        guard.lock();
        has_leader_ = false;
        self.leads = false;
        role_free_.notify_one();
        guard.unlock();
        std::this_thread::sleep_for(kNoMemory);
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
  {
    Worker last(*this);  // which does not lead, so nothing is suspended any more
    parked_.finish(last);
  }
  const MutexLock guard(mutex_);
  return problem_;
}

}  // namespace cffs
