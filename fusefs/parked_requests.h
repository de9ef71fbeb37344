// Requests whose answer the device is bringing, and that hold nothing meanwhile: each is run again, from its beginning, when the
// answer may be there (core/object/suspension.h, adr/0039).
//
// The device is taken for one that answers soon as long as it does (short_waits.h). A request that waits for longer than that, or
// beside others who want the processor, is run once more as one that waits.
//
// Thread-safety: one thread at a time.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <utility>

#include "fusefs/short_waits.h"

namespace cffs {

class ParkedRequest {
 public:
  ParkedRequest() = default;
  ParkedRequest(const ParkedRequest&) = delete;
  ParkedRequest& operator=(const ParkedRequest&) = delete;
  virtual ~ParkedRequest() = default;
  // Runs it. True: it is answered; false: it was suspended once more.
  virtual bool resume() = 0;
};

// Whose thread serves requests of which some may be parked.
class Parking {
 public:
  virtual ~Parking() = default;
  virtual void park(std::unique_ptr<ParkedRequest> request) = 0;
  // Null removes it. It outlives that.
  static void set_for_this_thread(Parking* parking);
  static Parking* of_this_thread();
};

class ParkedRequests {
 public:
  using Clock = ShortWaits::Clock;
  // How a request is run that may have its answer now: `last`, and it may be suspended no more.
  class Runner {
   public:
    virtual ~Runner() = default;
    // As ParkedRequest::resume(). Where the request has to wait, those that are parked may be another thread's from then on.
    virtual bool run(ParkedRequest& request, bool last) = 0;
    // They are not.
    virtual bool looks() const = 0;
  };
  explicit ParkedRequests(ShortWaits& waits, Clock::time_point (*now)() = &Clock::now)
      : waits_(waits), now_(now) {}

  // Is there room for one more, and would its answer come soon? To be asked once for each.
  bool wants_one() { return parked_.size() < kMost && waits_.expected(); }
  void park(std::unique_ptr<ParkedRequest> request);
  bool empty() const { return parked_.empty(); }
  // Runs those that have waited longest, each once, while the runner looks. `crowded`: others want the processor.
  void look(Runner& runner, bool crowded);
  // Runs all for the last time.
  void finish(Runner& runner);

 private:
  static constexpr std::size_t kMost = 8;  // that a look is worth its time for

  struct Parked {
    std::unique_ptr<ParkedRequest> request;
    Clock::time_point since, next_look;
  };
  using List = std::list<Parked>;

  ShortWaits& waits_;
  Clock::time_point (*const now_)();
  List parked_;  // in the order in which they came
};

}  // namespace cffs
