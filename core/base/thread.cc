#include "core/base/thread.h"

#include <atomic>
#include <new>
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

}  // namespace

Result<std::thread> make_thread(std::string_view name, std::function<void()> body) {
  const auto no_thread = [&](int problem) { return fail(problem, std::string(name)); };
  if (refused()) return no_thread(EAGAIN);
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return no_thread(error.code().value());
  } catch (const std::bad_alloc&) {
    return no_thread(ENOMEM);
  }
}

void allow_threads(int n) { allowed.store(n); }

}  // namespace cffs
