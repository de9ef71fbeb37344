// Commits every few seconds (TableFS §3.6), in a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "core/base/error.h"
#include "core/base/mutex.h"

namespace cffs {

class Committer {
 public:
  // EAGAIN: there is no thread to be had.
  static Result<std::unique_ptr<Committer>> begin(std::int64_t interval_ms, std::function<void()> commit);
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

 private:
  Committer(std::int64_t interval_ms, std::function<void()> commit)
      : interval_ms_(interval_ms), commit_(std::move(commit)) {}
  void run();

  const std::int64_t interval_ms_;
  const std::function<void()> commit_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cffs
