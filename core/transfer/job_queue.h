// Workers behind a queue that is bounded by jobs and by the bytes that jobs have in memory. A job that throws has failed, alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"

namespace cffs {

class JobQueue {
 public:
  using Job = std::function<void()>;
  // `failed` gets what a job threw. `name` is the threads': "a thread that imports".
  JobQueue(const std::string& name, unsigned workers, std::uint64_t most_bytes,
           std::function<void(const std::string&)> failed);
  ~JobQueue() { end(); }

  // Waits for room. `bytes`: that it has, or will have, in memory; one job alone may have more than all together. Where no thread could be
  // had, the caller does it.
  void add(Job run, std::uint64_t bytes = 0);
  // Until all that were added are done.
  void wait();
  // The same; and the workers are gone.
  void end();

 private:
  struct Entry {
    Job run;
    std::uint64_t bytes = 0;
  };
  void work();

  const std::uint64_t most_bytes_;
  const std::function<void(const std::string&)> failed_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Entry> queue_ CFFS_GUARDED_BY(mutex_);
  unsigned busy_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t bytes_ CFFS_GUARDED_BY(mutex_) = 0;  // of the jobs that are waiting or at work
  bool ending_ CFFS_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace cffs
