#include "core/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/base/thread.h"

namespace cffs {

void in_parallel(std::size_t count, unsigned workers, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> helpers;
  for (std::size_t i = 1; i < std::min<std::size_t>(workers, count); ++i) {
    auto helper = make_thread("a thread that helps", run);
    if (!helper) break;
    helpers.push_back(std::move(*helper));
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace cffs
