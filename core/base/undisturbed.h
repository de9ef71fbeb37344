// Where an exception must not pass, because what it leaves half-done could not be told from what is done: memory that runs out
// there ends the process (std::terminate), as kill -9 does, and what was acknowledged is there for the next one.
#pragma once

#include <exception>

namespace cffs {

template <typename Call>
auto undisturbed(Call call) noexcept {
  return call();
}

// The same for all that happens while it lives.
class Undisturbed {
 public:
  Undisturbed() = default;
  ~Undisturbed() {
    if (std::uncaught_exceptions() > before_) std::terminate();
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  const int before_ = std::uncaught_exceptions();
};

}  // namespace cffs
