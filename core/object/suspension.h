// An operation that ends instead of waiting for a device, and is run again when the device may have answered (adr/0039).
//
// Who runs one operation after another in one thread would have to wake another for each that waits. One that only reads may
// instead let go of all that it holds, come back with an error that nobody is told, and be run from its beginning a moment later:
// what it asked the device for is on its way meanwhile. Nothing is remembered from one run to the next but what the operation leaves
// for itself, which is no more than a hint: everything may have changed.
//
// Thread-safety: what is here is the thread's own. A later run may be another thread's.
#pragma once

#include <memory>
#include <utility>

#include "core/base/error.h"

namespace cffs {

// What an operation leaves for its next run. It may find that it has no use for it.
class Suspension {
 public:
  Suspension() = default;
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;
  virtual ~Suspension() = default;
};

// One run of an operation that may be suspended, on the stack of who runs it. Whether it may in the end is for the thread's
// observer to say (blocking_section.h), at the moment when it would wait.
class SuspendableRun {
 public:
  // `left`: by the run before; null: this is the first.
  explicit SuspendableRun(std::unique_ptr<Suspension> left);
  ~SuspendableRun();
  SuspendableRun(const SuspendableRun&) = delete;
  SuspendableRun& operator=(const SuspendableRun&) = delete;

  // Its result means nothing: it is to be run again.
  bool is_suspended() const { return next_ != nullptr; }
  std::unique_ptr<Suspension> leave() { return std::exchange(next_, nullptr); }

  static SuspendableRun* of_this_thread();
  // For the operation: what its run before left, once.
  std::unique_ptr<Suspension> take() { return std::exchange(left_, nullptr); }
  void suspend(std::unique_ptr<Suspension> next) { next_ = std::move(next); }

 private:
  std::unique_ptr<Suspension> left_, next_;
  SuspendableRun* const around_;
};

// May the operation at hand end now, rather than wait for a device? To be asked once for each wait.
bool may_suspend();
// The operation ends. It returns this error, having asked the device for what it wants; may_suspend() was true.
tl::unexpected<Error> suspend(std::unique_ptr<Suspension> next);
// What the run before left where it is a T; null: this is a first run, or there is nothing of the kind.
template <typename T>
std::unique_ptr<T> resumed() {
  SuspendableRun* const run = SuspendableRun::of_this_thread();
  if (run == nullptr) return nullptr;
  std::unique_ptr<Suspension> left = run->take();
  if (auto* const wanted = dynamic_cast<T*>(left.get())) {
    (void)left.release();  // NOLINT: it is the same object
    return std::unique_ptr<T>(wanted);
  }
  return nullptr;
}

}  // namespace cffs
