#include "tests/crash/stepped_work.h"

#include <utility>

namespace cffs::test {

void SteppedWork::add(std::function<void()> piece) {
  const MutexLock guard(mutex_);
  if (free_) {
    freed_.emplace_back(std::move(piece));
    return;
  }
  if (due_.empty()) appends_ = 0;
  due_.push_back(std::move(piece));
}

void SteppedWork::run_one(std::function<void()> piece) {
  pieces_.fetch_add(1);
  std::thread thread([&] {
    own_thread_.store(std::this_thread::get_id());
    piece();
    own_thread_.store({});
  });
  thread.join();
}

void SteppedWork::run_all() {
  if (is_own_thread()) return;
  for (;;) {
    std::function<void()> piece;
    {
      const MutexLock guard(mutex_);
      if (due_.empty()) return;
      piece = std::move(due_.front());
      due_.pop_front();
    }
    run_one(std::move(piece));
  }
}

void SteppedWork::before_change(const std::string& what) {
  if (!what.starts_with("write table/") || !what.ends_with(".log") || is_own_thread()) return;
  {
    const MutexLock guard(mutex_);
    if (due_.empty() || appends_++ < delay_) return;
  }
  run_all();
}

void SteppedWork::set_free() {
  for (;;) {
    std::deque<std::function<void()>> due;
    std::deque<std::thread> freed;
    {
      const MutexLock guard(mutex_);
      free_ = true;
      due.swap(due_);
      freed.swap(freed_);
    }
    if (due.empty() && freed.empty()) return;
    for (auto& thread : freed) thread.join();
    for (auto& piece : due) run_one(std::move(piece));
  }
}

}  // namespace cffs::test
