#include "fusefs/heap.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cffs {

void keep_large_memory_apart() {
#ifdef __GLIBC__
  // Whoever runs it may say otherwise.
  if (std::getenv("MALLOC_MMAP_THRESHOLD_") != nullptr || std::getenv("GLIBC_TUNABLES") != nullptr) return;
  constexpr int kLarge = 128 << 10;
  constexpr int kKeptAtTop =
      1 << 20;  // of each heap: to give it back and have it again takes a fault for each page
  (void)::mallopt(M_MMAP_THRESHOLD, kLarge);
  (void)::mallopt(M_TRIM_THRESHOLD, kKeptAtTop);
#endif
}

}  // namespace cffs
