#include "tests/unit/failing_writeback.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace cffs::test {

std::atomic<int> failing_writeback = 0;
std::atomic<int> failing_writeback_ms = 0;
std::atomic<bool> failing_waits_only = false;
std::atomic<int> failing_fsync = 0, failing_syncfs = 0;

}  // namespace cffs::test

namespace {

int unless(std::atomic<int>& failing, long call, int fd) {
  if (const int reason = failing.exchange(0); reason != 0) {
    errno = reason;
    return -1;
  }
  return static_cast<int>(::syscall(call, fd));
}

}  // namespace

// In the C library's place.
extern "C" int fsync(int fd) { return unless(cffs::test::failing_fsync, SYS_fsync, fd); }
extern "C" int syncfs(int fd) noexcept { return unless(cffs::test::failing_syncfs, SYS_syncfs, fd); }
extern "C" int sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags) {
  using namespace cffs::test;
  const bool waits = (flags & SYNC_FILE_RANGE_WAIT_AFTER) != 0;
  if (const int reason = failing_waits_only && !waits ? 0 : failing_writeback.exchange(0); reason != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(failing_writeback_ms.load()));
    errno = reason;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_sync_file_range, fd, offset, length, flags));
}
