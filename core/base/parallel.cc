#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace cffs {

void in_parallel(std::size_t count, unsigned workers, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  Mutex mutex;
  std::exception_ptr thrown;  // the first
  const auto run = [&] {
    try {
      for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
    } catch (...) {
      next = count;
      const MutexLock guard(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  const std::size_t threads = std::min<std::size_t>(workers, count);
  std::vector<std::thread> helpers;
  helpers.reserve(threads);  // nothing throws while they run
  for (std::size_t i = 1; i < threads; ++i) {
    auto helper = make_thread("a thread that helps", run);
    if (!helper) break;
    helpers.push_back(std::move(*helper));
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cffs
