#include "fusefs/parked_requests.h"

#include <cstddef>

namespace cffs {
namespace {

// A fast disk takes 50 to 150 us. Each look costs some us, and others are not kept waiting by more than a few.
constexpr std::chrono::microseconds kFirstLook{40}, kBetweenLooks{10}, kLongest{500};
constexpr std::size_t kLooks = 4;

thread_local Parking* parking_of_thread = nullptr;

}  // namespace

void Parking::set_for_this_thread(Parking* parking) { parking_of_thread = parking; }

Parking* Parking::of_this_thread() { return parking_of_thread; }

void ParkedRequests::park(std::unique_ptr<ParkedRequest> request) {
  const Clock::time_point now = now_();
  parked_.push_back({std::move(request), now, now + kFirstLook});
}

// While one runs it is in no list, since where it has to wait the list goes to another thread; from then on nothing here is touched.
void ParkedRequests::look(Runner& runner, bool crowded) {
  const Clock::time_point now = now_();
  std::size_t looks = 0;
  for (auto next = parked_.begin(); next != parked_.end() && looks < kLooks;) {
    const auto at = next++;
    if (now < at->next_look) continue;
    ++looks;
    List one;
    one.splice(one.begin(), parked_, at);
    ParkedRequest& request = *one.front().request;
    const bool answered = runner.run(request, false);
    if (!runner.looks()) {
      if (!answered) (void)runner.run(request, true);
      return;
    }
    if (answered) {
      waits_.came();
    } else if (!crowded && now - one.front().since < kLongest) {
      one.front().next_look = now + kBetweenLooks;
      parked_.splice(next, one);
    } else {
      waits_.did_not_come();
      (void)runner.run(request, true);
      if (!runner.looks()) return;
    }
  }
}

void ParkedRequests::finish(Runner& runner) {
  while (!parked_.empty()) {
    List one;
    one.splice(one.begin(), parked_, parked_.begin());
    (void)runner.run(*one.front().request, true);
  }
}

}  // namespace cffs
