#include "fusefs/ring_crew.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/thread.h"
#include "fusefs/join_threads.h"
#include "fusefs/ring_member.h"

namespace cffs {
namespace {

constexpr std::chrono::seconds kAskAgain{1};

}  // namespace
RingCrew::RingCrew(RingCrewSetup setup)
    : setup_(std::move(setup)),
      stop_event_(::eventfd(0, EFD_CLOEXEC)),
      free_(setup_.queues),
      threads_of_queue_(setup_.queues) {}

RingCrew::~RingCrew() {
  stop();
  join();
}

Result<std::unique_ptr<RingCrew>> RingCrew::make(RingCrewSetup setup) {
  std::unique_ptr<RingCrew> crew(new RingCrew(std::move(setup)));
  if (!crew->stop_event_) return fail(errno, "eventfd");
  {
    const MutexLock guard(crew->mutex_);
    for (unsigned queue = 0; queue < crew->setup_.queues; ++queue) {
      CFFS_TRY_VOID(crew->hire(static_cast<std::uint16_t>(queue), true));
    }
  }
  CFFS_TRY_VOID(crew->all_reported(Phase::preparing));
  return crew;
}

Status RingCrew::begin() {
  {
    const MutexLock guard(mutex_);
    phase_ = Phase::registering;
    reports_ = 0;
    changed_.notify_all();
  }
  Status registered = all_reported(Phase::registering);
  if (!registered) stop();
  return registered;
}

Status RingCrew::all_reported(Phase during) {
  const MutexLock guard(mutex_);
  while (reports_ < setup_.queues && phase_ == during) changed_.wait(mutex_);
  return problem_;
}

void RingCrew::report(const Status& outcome) {
  const MutexLock guard(mutex_);
  if (!outcome && problem_) problem_ = outcome;
  ++reports_;
  changed_.notify_all();
}

// False: it does not come to begin().
Status RingCrew::report_and_wait(const Status& prepared) {
  report(prepared);
  const MutexLock guard(mutex_);
  while (phase_ == Phase::preparing) changed_.wait(mutex_);
  return phase_ == Phase::over ? Status(fail(ECANCELED)) : prepared;
}

bool RingCrew::is_over() {
  const MutexLock guard(mutex_);
  return phase_ == Phase::over;
}

void RingCrew::stop() {
  const MutexLock guard(mutex_);
  phase_ = Phase::over;
  changed_.notify_all();
  const std::uint64_t one = 1;
  (void)!::write(stop_event_.get(), &one, sizeof one);  // it stays readable: whoever waits later sees it too
}

void RingCrew::join() {
  join_threads([this] {
    const MutexLock guard(mutex_);
    return std::exchange(threads_, {});
  });
}

// Each has let go of the mutex for the last time.
void RingCrew::join_ended() {
  for (const std::thread::id id : ended_) {
    const auto ended = std::find_if(threads_.begin(), threads_.end(),
                                    [id](const std::thread& t) { return t.get_id() == id; });
    if (ended == threads_.end()) continue;  // join() has them
    ended->join();
    threads_.erase(ended);
  }
  ended_.clear();
}

Status RingCrew::hire(std::uint16_t queue, bool is_first) {
  threads_.reserve(threads_.size() + 1);
  ++free_[queue].count;
  auto made = make_thread("a thread that serves", [this, queue, is_first] { work(queue, is_first); });
  if (!made) {
    --free_[queue].count;
    return fail(made.error());
  }
  threads_.push_back(std::move(*made));
  ++threads_of_queue_[queue];
  return {};
}

void RingCrew::about_to_block(std::uint16_t queue) {
  // Whoever stopped being free last sees it here, since all count on the same number.
  if (free_[queue].count.load() > 0) return;
  const MutexLock guard(mutex_);
  if (free_[queue].count.load() > 0 || phase_ == Phase::over) return;
  if (std::chrono::steady_clock::now() < refused_until_) return;
  join_ended();
  if (threads_.size() >= setup_.most_threads && threads_of_queue_[queue] >= 2) return;
  // Where there is none to be had, whoever is served first takes the next request, as where all are busy.
  if (!hire(queue, false)) refused_until_ = std::chrono::steady_clock::now() + kAskAgain;
}

void RingCrew::work(std::uint16_t queue, bool is_first) {
  // A request is made on its queue's processor, by somebody who then sleeps: served there, it needs no other to be woken.
  stay_on_processor(queue);
  RingMember member(*this, queue);
  Status ready = member.prepare();
  if (is_first) ready = report_and_wait(ready);
  if (ready) {
    const MutexLock guard(registering_);
    ready = member.enter();
    if (!ready && is_first && !member.withdraw()) setup_.on_breakdown();
  }
  if (is_first) report(ready);
  if (ready) return member.serve();
  --free_[queue].count;
  const MutexLock guard(mutex_);
  refused_until_ = std::chrono::steady_clock::now() + kAskAgain;
  --threads_of_queue_[queue];
  ended_.push_back(std::this_thread::get_id());
}

}  // namespace cffs
