// Allocations that fail, in a binary whose operator new asks here: whichever thread makes them.
#pragma once

#include <cstdint>

namespace cffs::test {

// The n-th from now on fails, and all behind it where they go on failing; 0: none.
void fail_allocation(std::int64_t n, bool goes_on_failing = false);
// One has failed since.
bool allocation_failed();

}  // namespace cffs::test
