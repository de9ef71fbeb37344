#include "core/base/thread.h"

#include <sched.h>

#include <atomic>
#include <new>
#include <optional>
#include <system_error>

namespace cffs {
namespace {

std::atomic<int> allowed{-1};

bool refused() {
  int left = allowed.load();
  while (left > 0 && !allowed.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}

// Where a thread might run before it stayed on one processor: a thread that is made inherits its maker's place.
thread_local std::optional<cpu_set_t> before_staying;

}  // namespace

Result<std::thread> make_thread(std::string_view name, std::function<void()> body) {
  const auto no_thread = [&](int problem) { return fail(problem, std::string(name)); };
  if (refused()) return no_thread(EAGAIN);
  try {
    if (!before_staying) return std::thread(std::move(body));
    return std::thread([body = std::move(body), anywhere = *before_staying] {
      (void)::sched_setaffinity(0, sizeof anywhere, &anywhere);
      body();
    });
  } catch (const std::system_error& error) {
    return no_thread(error.code().value());
  } catch (const std::bad_alloc&) {
    return no_thread(ENOMEM);
  }
}

void stay_on_processor(unsigned processor) {
  cpu_set_t anywhere, one;
  CPU_ZERO(&one);
  if (processor >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof anywhere, &anywhere) != 0) return;
  if (!CPU_ISSET(processor, &anywhere)) return;
  CPU_SET(processor, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0 && !before_staying) before_staying = anywhere;
}

void allow_threads(int n) { allowed.store(n); }

}  // namespace cffs
