// The end of threads that make others: one that is joined may have made another before it saw that it is over.
#pragma once

#include <thread>
#include <vector>

namespace cffs {

// `take` hands over those that there are; joined until it hands over none.
template <typename Take>
void join_threads(const Take& take) {
  for (std::vector<std::thread> ended = take(); !ended.empty(); ended = take()) {
    for (std::thread& thread : ended) thread.join();
  }
}

}  // namespace cffs
