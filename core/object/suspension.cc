#include "core/object/suspension.h"

#include "core/object/blocking_section.h"

namespace cffs {
namespace {
thread_local SuspendableRun* run_of_thread = nullptr;
}  // namespace

SuspendableRun::SuspendableRun(std::unique_ptr<Suspension> left)
    : left_(std::move(left)), around_(std::exchange(run_of_thread, this)) {}

SuspendableRun::~SuspendableRun() { run_of_thread = around_; }

SuspendableRun* SuspendableRun::of_this_thread() { return run_of_thread; }

bool may_suspend() { return run_of_thread != nullptr && may_leave(); }

tl::unexpected<Error> suspend(std::unique_ptr<Suspension> next) {
  CFFS_INVARIANT(run_of_thread != nullptr);
  run_of_thread->suspend(std::move(next));
  return fail(EAGAIN);
}

}  // namespace cffs
