// A budget of bytes per second: whoever works in the background says what it has done, and waits until that was allowed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

namespace cffs {

class Pace {
 public:
  // 0: no budget.
  explicit Pace(std::uint64_t bytes_per_second) : bytes_per_second_(static_cast<double>(bytes_per_second)) {}

  // Returns when the bytes done so far fit the time that has passed, or `go_on`, asked now and then, says no.
  void spent(std::uint64_t bytes, const std::function<bool()>& go_on) {
    done_ += static_cast<double>(bytes);
    while (bytes_per_second_ > 0 && go_on()) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
      if (passed.count() * bytes_per_second_ >= done_) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

 private:
  const double bytes_per_second_;
  double done_ = 0;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace cffs
