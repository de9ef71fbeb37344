#include "core/base/job_thread.h"

#include <utility>

#include "core/base/thread.h"
#include "core/base/within_memory.h"

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
  // What takes memory comes before the job is said to run: nothing would ever end it.
  const std::string name = "the thread of " + what_;
  std::function<void()> body = [this, run = std::move(run)] { become(outcome(run)); };
  const MutexLock one_at_a_time(control_);
  CFFS_TRY_VOID(prepare(begin));
  auto made = within_memory([&] { return make_thread(name, std::move(body)); });
  if (!made) {
    become({"failed", message_within_memory(made.error())});
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
  become(outcome(run));
  return {};
}

JobThread::State JobThread::outcome(const std::function<State()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return {"failed", message_within_memory(Error::os(ENOMEM))};
  }
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
