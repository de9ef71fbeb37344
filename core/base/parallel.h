// Work on many things by a few threads.
#pragma once

#include <cstddef>
#include <functional>

namespace cffs {

// Calls work(0) … work(count - 1), each once, by up to `workers` threads, the caller's among them; returns when all are done.
// Where the system has no thread to give, by fewer. What
// one of them throws ends them all, and is the caller's then: that of memory that runs out, mostly.
void in_parallel(std::size_t count, unsigned workers, const std::function<void(std::size_t)>& work);

}  // namespace cffs
