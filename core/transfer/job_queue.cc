#include "core/transfer/job_queue.h"

#include <algorithm>
#include <exception>

#include "core/base/thread.h"

namespace cffs {

JobQueue::JobQueue(const std::string& name, unsigned workers, std::uint64_t most_bytes,
                   std::function<void(const std::string&)> failed)
    : most_bytes_(most_bytes), failed_(std::move(failed)) {
  workers_.reserve(std::max(1u, workers));
  for (unsigned i = 0; i < std::max(1u, workers); ++i) {
    auto worker = make_thread(name, [this] { work(); });
    if (!worker) break;  // those that there are do it, or the caller's own
    workers_.push_back(std::move(*worker));
  }
}

void JobQueue::end() {
  {
    const MutexLock guard(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void JobQueue::work() {
  MutexLock guard(mutex_);
  for (;;) {
    while (!ending_ && queue_.empty()) changed_.wait(mutex_);
    if (queue_.empty()) return;
    const Entry job = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    guard.unlock();
    changed_.notify_all();
    try {
      job.run();
    } catch (const std::exception& error) {
      failed_(error.what());
    }
    guard.lock();
    --busy_;
    bytes_ -= job.bytes;
    changed_.notify_all();
  }
}

void JobQueue::add(Job run, std::uint64_t bytes) {
  if (workers_.empty()) return run();
  const MutexLock guard(mutex_);
  while (queue_.size() > workers_.size() || (bytes_ > 0 && bytes_ + bytes > most_bytes_))
    changed_.wait(mutex_);
  bytes_ += bytes;
  queue_.push_back({std::move(run), bytes});
  changed_.notify_all();
}

void JobQueue::wait() {
  const MutexLock guard(mutex_);
  while (!queue_.empty() || busy_ > 0) changed_.wait(mutex_);
}

}  // namespace cffs
