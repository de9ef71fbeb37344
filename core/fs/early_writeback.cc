#include "core/fs/early_writeback.h"

#include <utility>

#include "core/base/thread.h"
#include "core/base/within_memory.h"

namespace cffs {
namespace {

constexpr std::size_t kMostDue = 256;  // ranges

}  // namespace

void EarlyWriteback::grew(const std::shared_ptr<Object>& object, std::uint64_t before, std::uint64_t now) {
  const std::uint64_t end = now / kStep * kStep;
  std::uint64_t begin = before / kStep * kStep;
  if (end < 2 * kStep || end <= begin) return;
  if (begin == kStep) begin = 0;  // it has become large but now
  const MutexLock guard(mutex_);
  if (stopped_ || due_.size() >= kMostDue) return;
  // Who calls has changed the file already, and more to note of it: no memory for this is no error.
  const Status asked = within_memory([&]() -> Status {
    mutex_.assert_held();
    return ask({object, begin, end - begin});
  });
  if (asked) wake_.notify_one();
}

Status EarlyWriteback::ask(Range range) {
  if (!running_) {
    auto made = make_thread("the thread that writes large files early", [this] { run(); });
    if (!made) {
      stopped_ = true;
      return fail(made.error());
    }
    thread_ = *std::move(made);
    running_ = true;
  }
  due_.push_back(std::move(range));
  return {};
}

void EarlyWriteback::stop() {
  {
    const MutexLock guard(mutex_);
    stopped_ = true;
    due_.clear();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EarlyWriteback::run() {
  MutexLock guard(mutex_);
  for (;;) {
    while (!stopped_ && due_.empty()) wake_.wait(mutex_);
    if (stopped_) return;
    const Range range = std::move(due_.front());
    due_.pop_front();
    guard.unlock();
    if (const auto object = range.object.lock()) object->begin_writeback(range.offset, range.length);
    guard.lock();
  }
}

}  // namespace cffs
