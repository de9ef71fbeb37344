// When requests that wait for a device are run again, and for how long that goes on.
#include "fusefs/parked_requests.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace cffs {
namespace {

using namespace std::chrono_literals;

ParkedRequests::Clock::time_point time_now;
ParkedRequests::Clock::time_point now() { return time_now; }

struct Answers {
  std::string order;
  std::vector<char> there;
};

class Request final : public ParkedRequest {
 public:
  Request(char name, Answers& answers) : name_(name), answers_(answers) {}
  bool resume() override {
    for (const char there : answers_.there) {
      if (there != name_) continue;
      answers_.order += name_;
      return true;
    }
    return false;
  }

 private:
  const char name_;
  Answers& answers_;
};

// Runs each as it comes; one that is run for the last time waits, and another thread has the rest from then on.
class Leader final : public ParkedRequests::Runner {
 public:
  bool run(ParkedRequest& request, bool last) override {
    ++runs;
    if (hands_over) leads = false;
    if (request.resume()) return true;
    if (!last) return false;
    ++waits;
    leads = false;
    return true;
  }
  bool looks() const override { return leads; }
  bool leads = true, hands_over = false;
  int runs = 0, waits = 0;
};

struct Lot {
  void park(const std::string& names) {
    for (const char name : names) {
      REQUIRE(parked.wants_one());
      parked.park(std::make_unique<Request>(name, answers));
    }
  }
  void look_after(std::chrono::microseconds pause, bool crowded = false) {
    time_now += pause;
    leader.leads = true;
    parked.look(leader, crowded);
  }
  ShortWaits waits{now};
  ParkedRequests parked{waits, now};
  Answers answers;
  Leader leader;
};

}  // namespace

TEST_CASE("parked requests are answered as their data comes, whichever came first", "[parked]") {
  Lot lot;
  lot.park("abc");
  lot.look_after(50us);
  CHECK(lot.leader.runs == 3);
  lot.answers.there = {'b'};
  lot.look_after(50us);
  CHECK(lot.answers.order == "b");
  lot.answers.there = {'c', 'a'};
  lot.look_after(50us);
  CHECK(lot.answers.order == "bac");
  CHECK(lot.parked.empty());
  CHECK(lot.leader.waits == 0);
}

TEST_CASE("nobody looks again before something can have changed, nor at many at a time", "[parked]") {
  Lot lot;
  lot.park("abcdef");
  lot.look_after(1us);
  CHECK(lot.leader.runs == 0);
  lot.look_after(100us);
  CHECK(lot.leader.runs == 4);
  lot.look_after(1us);
  CHECK(lot.leader.runs == 6);  // the others' turn
  lot.look_after(1us);
  CHECK(lot.leader.runs == 6);
}

TEST_CASE("what does not come soon is waited for, and the rest is whose the role is then", "[parked]") {
  Lot lot;
  lot.park("ab");
  lot.look_after(100us);
  lot.look_after(500us);
  CHECK(lot.leader.waits == 1);
  CHECK_FALSE(lot.leader.leads);
  CHECK_FALSE(lot.parked.empty());
  lot.look_after(0us);  // by whoever leads now
  CHECK(lot.leader.waits == 2);
  CHECK(lot.parked.empty());
}

TEST_CASE("who has to wait for something else while one runs leaves the others alone", "[parked]") {
  Lot lot;
  lot.park("abc");
  lot.leader.hands_over = true;
  lot.answers.there = {'a', 'b'};
  lot.look_after(50us);
  CHECK(lot.answers.order == "a");
  CHECK(lot.leader.runs == 1);
  lot.look_after(0us);
  CHECK(lot.answers.order == "ab");
  lot.look_after(0us);  // not there: it is waited for, by whoever ran it
  CHECK(lot.leader.waits == 1);
  CHECK(lot.leader.runs == 4);
  CHECK(lot.parked.empty());
}

TEST_CASE("beside others who want the processor nobody looks twice", "[parked]") {
  Lot lot;
  lot.park("ab");
  lot.answers.there = {'b'};
  lot.look_after(60us, true);
  CHECK(lot.leader.waits == 1);
  lot.look_after(0us, true);
  CHECK(lot.answers.order == "b");
  CHECK(lot.leader.waits == 1);
}

TEST_CASE("there is room for a few, and none where the device does not answer soon", "[parked]") {
  Lot lot;
  lot.park("abcdefgh");
  CHECK_FALSE(lot.parked.wants_one());
  lot.look_after(1s);
  CHECK(lot.parked.wants_one());
  while (!lot.parked.empty()) lot.look_after(1s);
  CHECK(lot.leader.waits == 8);
  int wanted = 0;
  for (int i = 0; i < 640; ++i) wanted += lot.parked.wants_one() ? 1 : 0;
  CHECK(wanted == 10);  // a try now and then
}

TEST_CASE("at the end all are run for the last time", "[parked]") {
  Lot lot;
  lot.park("abc");
  lot.answers.there = {'c'};
  lot.leader.leads = false;
  lot.parked.finish(lot.leader);
  CHECK(lot.parked.empty());
  CHECK(lot.leader.waits == 2);
  CHECK(lot.answers.order == "c");
}

}  // namespace cffs
