// Commits every few seconds (TableFS §3.6), in a thread of its own; and settles rows before that where somebody asks for it.
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
  // `look` is called each second between commits. EAGAIN: there is no thread to be had.
  static Result<std::unique_ptr<Committer>> begin(std::int64_t interval_ms, std::function<void()> commit,
                                                  std::function<void()> settle, std::function<void()> look);
  ~Committer();
  // `settle` is called soon, or the commit that is due.
  void settle_soon();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

 private:
  Committer(std::int64_t interval_ms, std::function<void()> commit, std::function<void()> settle,
            std::function<void()> look)
      : interval_ms_(interval_ms),
        commit_(std::move(commit)),
        settle_(std::move(settle)),
        look_(std::move(look)) {}
  void run();

  const std::int64_t interval_ms_;
  const std::function<void()> commit_;
  const std::function<void()> settle_;
  const std::function<void()> look_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ CFFS_GUARDED_BY(mutex_) = false;
  bool settles_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cffs
