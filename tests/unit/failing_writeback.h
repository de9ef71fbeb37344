// A kernel that cannot write back what it was given: sync_file_range(2), fsync(2) and syncfs(2) of the whole test program.
#pragma once

#include <atomic>

namespace cffs::test {

extern std::atomic<int> failing_writeback;              // errno of the next call; 0: the kernel's own
extern std::atomic<int> failing_writeback_ms;           // that it takes
extern std::atomic<bool> failing_waits_only;            // of those calls that wait
extern std::atomic<int> failing_fsync, failing_syncfs;  // errno of the next call; 0: the kernel's own

}  // namespace cffs::test
