// Large files that grow go to the medium while they are written, so that who syncs them at the end finds little left to do, and
// the medium is not idle before. A hint to the kernel, in a thread of its own: where the medium is behind, giving it more to do
// waits for it, which no writer should.
//
// What is asked for is only what is complete: files that grew by steps, whole steps of them. Smaller files wait for the commit, as
// do those that are changed in place, which would go to the medium once for each change. No promise is made or kept here: a failure
// is told by the sync that follows (core/object/object_store.h), and without a thread, or with too much waiting, nothing is done.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class EarlyWriteback {
 public:
  // Bytes. Of a file of fewer than two of them nothing is asked for early.
  static constexpr std::uint64_t kStep = 8u << 20;

  EarlyWriteback() = default;
  ~EarlyWriteback() { stop(); }
  EarlyWriteback(const EarlyWriteback&) = delete;
  EarlyWriteback& operator=(const EarlyWriteback&) = delete;

  // The object has grown at its end, from one size to another. Never waits.
  void grew(const std::shared_ptr<Object>& object, std::uint64_t before, std::uint64_t now);
  // What is still to be asked for is forgotten, and nothing is any more. Waits for what is under way.
  void stop();

 private:
  struct Range {
    std::weak_ptr<Object> object;  // of one that nobody has any more there is nothing to be written
    std::uint64_t offset = 0, length = 0;
  };

  Status ask(Range range) CFFS_REQUIRES(mutex_);
  void run();

  Mutex mutex_;  // leaf
  CondVar wake_;
  std::deque<Range> due_ CFFS_GUARDED_BY(mutex_);
  bool running_ CFFS_GUARDED_BY(mutex_) = false;
  bool stopped_ CFFS_GUARDED_BY(mutex_) = false;  // or there is no thread to be had
  std::thread thread_;                            // made with the first file that is large enough
};

}  // namespace cffs
