// The threads that serve the queues of a mount over io_uring.
//
// The kernel has a queue for each possible processor, which gets the requests that are made there, and wants an entry in
// each. A request is copied in the thread that its entry belongs to, so an entry of a thread that waits for a device would
// hold up whatever is given to it. So each thread has exactly one (ring_member.h): it has no free entry while it serves. Of
// a queue's free entries the kernel takes the one that was freed last, and so one thread of a queue serves alone until it
// announces that it is about to block (core/object/blocking_section.h); where nobody else of its queue is free then,
// another thread is made. Threads never become fewer: a queue without an entry would serve nobody.
//
// INIT, FORGET and INTERRUPT come by the device; the request loop serves them, and everything, where begin() fails.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"

namespace cffs {

struct RingCrewSetup {
  int device = -1;  // the session's descriptor
  unsigned queues = 1;
  // Of all queues together; each queue may have two in any case, that one may wait for a device.
  unsigned most_threads = 16;
  std::size_t payload_bytes = 0;  // of the largest request or reply
  std::function<void(const fuse_buf&)> serve;
  std::function<void()> on_breakdown;  // a queue cannot be served any more: the mount must end
};

class RingCrew {
 public:
  // One thread with its io_uring for each queue, waiting for begin(). An error says why there is none to be had; nothing is
  // left of it.
  static Result<std::unique_ptr<RingCrew>> make(RingCrewSetup setup);
  ~RingCrew();
  RingCrew(const RingCrew&) = delete;
  RingCrew& operator=(const RingCrew&) = delete;

  // After INIT was answered so: requests come this way. An error: the kernel refuses, and sends them by the device.
  Status begin();
  // From any thread: whoever waits for a request ends, the others when they have replied.
  void stop();
  // Behind stop(), or where the mount is over.
  void join();

  // For members.
  const RingCrewSetup& setup() const { return setup_; }
  int stop_event() const { return stop_event_.get(); }
  // Threads of a queue that wait for a request, or will at once.
  std::atomic<int>& free_threads(std::uint16_t queue) { return free_[queue].count; }
  void about_to_block(std::uint16_t queue);
  bool is_over();

 private:
  struct alignas(64) FreeThreads {  // of a queue: its processor's own
    std::atomic<int> count{0};
  };
  enum class Phase { preparing, registering, over };

  explicit RingCrew(RingCrewSetup setup);
  Status hire(std::uint16_t queue, bool is_first) CFFS_REQUIRES(mutex_);
  void join_ended() CFFS_REQUIRES(mutex_);
  void work(std::uint16_t queue, bool is_first);
  Status report_and_wait(const Status& prepared);
  void report(const Status& outcome);
  Status all_reported(Phase next);

  const RingCrewSetup setup_;
  FileDescriptor stop_event_;
  std::vector<FreeThreads> free_;
  Mutex mutex_;
  CondVar changed_;
  Phase phase_ CFFS_GUARDED_BY(mutex_) = Phase::preparing;
  unsigned reports_ CFFS_GUARDED_BY(mutex_) = 0;  // of this phase
  Status problem_ CFFS_GUARDED_BY(mutex_);        // the first
  // Where the system refuses one more, it is not asked again before this.
  std::chrono::steady_clock::time_point refused_until_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::thread::id> ended_ CFFS_GUARDED_BY(mutex_);  // without ever having served
  std::vector<unsigned> threads_of_queue_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ CFFS_GUARDED_BY(mutex_);
  Mutex registering_;  // one at a time
};

}  // namespace cffs
