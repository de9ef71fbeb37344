#include "core/base/job_thread.h"

#include <utility>

#include "core/base/thread.h"

namespace cffs {

Status JobThread::prepare(const std::function<void()>& begin) {
  if (state().state == "running") return fail(EBUSY, what_ + " is under way");
  if (thread_.joinable()) thread_.join();  // one that has ended
  stopping_.store(false);
  begin();
  become({"running", ""});
  return {};
}

Status JobThread::start(const std::function<void()>& begin, std::function<State()> run) {
  const MutexLock one_at_a_time(control_);
  CFFS_TRY_VOID(prepare(begin));
  auto made = make_thread("the thread of " + what_, [this, run = std::move(run)] { become(run()); });
  if (!made) {
    become({"failed", made.error().message()});
    return fail(made.error());
  }
  thread_ = std::move(*made);
  return {};
}

Status JobThread::run_here(const std::function<void()>& begin, const std::function<State()>& run) {
  {
    const MutexLock one_at_a_time(control_);
    CFFS_TRY_VOID(prepare(begin));
  }
  become(run());
  return {};
}

void JobThread::stop() {
  const MutexLock one_at_a_time(control_);
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
}

JobThread::State JobThread::state() const {
  const MutexLock guard(mutex_);
  return state_;
}

void JobThread::become(State state) {
  const MutexLock guard(mutex_);
  state_ = std::move(state);
}

}  // namespace cffs
