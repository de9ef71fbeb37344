// Tells whoever runs this thread that it is about to wait for a device.
//
// A request loop that lets one thread receive and serve (fusefs/request_loop.h) needs to know when that
// thread will be gone for a while, so that another can take over receiving; asking for every request would
// cost a wake-up each, which is half the price of a FUSE request. Threads that set no observer pay one
// thread-local read.
#pragma once

namespace cffs {

class BlockingObserver {
 public:
  virtual ~BlockingObserver() = default;
  // Called on the thread that is about to block; may be called several times for one request.
  virtual void about_to_block() = 0;
  // Null removes it. The observer outlives its registration.
  static void set_for_this_thread(BlockingObserver* observer);
};

// Call right before a system call that may wait for a device.
void announce_blocking();

}  // namespace cffs
