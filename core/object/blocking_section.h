// Tells whoever runs this thread that it is about to wait for a device.
//
// A request loop that lets one thread receive and serve (fusefs/request_loop.h) needs to know when that
// thread will be gone for a while, so that another can take over receiving; asking for every request would
// cost a wake-up each, which is half the price of a FUSE request. Where a device mostly answers within the time of a few
// wake-ups, the thread may rather look for the answer (adr/0034), or have the operation end and be run again when it is there (suspension.h).
// Threads that set no observer pay one thread-local read.
#pragma once

#include <functional>

namespace cffs {

class BlockingObserver {
 public:
  using Ready = std::function<bool()>;
  virtual ~BlockingObserver() = default;
  // Called on the thread that is about to block; may be called several times for one request.
  virtual void about_to_block() = 0;
  // Would watch() look for an answer of the device?
  virtual bool watches() { return false; }
  // Looks whether `ready` for a moment. False: it has not become so, or nobody looked; then the thread is about to block.
  virtual bool watch(const Ready& ready) {
    (void)ready;
    return false;
  }
  // May an operation end instead of blocking, and be run again (suspension.h)? Asked once for each wait.
  virtual bool may_leave() { return false; }
  // Null removes it. The observer outlives its registration.
  static void set_for_this_thread(BlockingObserver* observer);
};

// Call right before a system call that may wait for a device.
void announce_blocking();

// Call before a device is asked for something that is then waited for by watch_device(). True: somebody will watch, so have the
// request on its way before that. False: announce_blocking() was called.
bool announce_request();
// `ready` tells whether what was asked for is there, without waiting for it. True: it is. False: announce_blocking() was called, the
// caller waits for it in a system call.
bool watch_device(const BlockingObserver::Ready& ready);

// BlockingObserver::may_leave() of this thread's: for suspension.h.
bool may_leave();

}  // namespace cffs
