#include "core/object/blocking_section.h"

namespace cffs {
namespace {
// Thread-local, not global: the layers between the request loop and the system call stay free of a parameter
// that none of them uses.
thread_local BlockingObserver* observer_of_thread = nullptr;
}  // namespace

void BlockingObserver::set_for_this_thread(BlockingObserver* observer) { observer_of_thread = observer; }

void announce_blocking() {
  if (observer_of_thread != nullptr) observer_of_thread->about_to_block();
}

bool announce_request() {
  if (observer_of_thread != nullptr && observer_of_thread->watches()) return true;
  announce_blocking();
  return false;
}

bool watch_device(const BlockingObserver::Ready& ready) {
  if (observer_of_thread != nullptr && observer_of_thread->watch(ready)) return true;
  announce_blocking();
  return false;
}

bool may_leave() { return observer_of_thread != nullptr && observer_of_thread->may_leave(); }

}  // namespace cffs
