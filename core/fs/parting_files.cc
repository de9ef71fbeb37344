#include "core/fs/parting_files.h"

#include <algorithm>

#include "core/object/blocking_section.h"

namespace cffs {

void PartingFiles::lost_name(InodeId ino) {
  const MutexLock guard(mutex_);
  files_[next_] = {ino, Steady::now() + moment_};
  next_ = (next_ + 1) % kAwaited;
}

void PartingFiles::went(InodeId ino) {
  const MutexLock guard(mutex_);
  for (Parting& file : files_) {
    if (file.ino != ino || file.until == Steady::time_point{}) continue;
    file = {};
    ++went_;
    gone_.notify_all();
  }
}

PartingFiles::Steady::time_point PartingFiles::last() const {
  Steady::time_point until{};
  for (const Parting& file : files_) until = std::max(until, file.until);
  return until;
}

bool PartingFiles::await() {
  std::uint64_t before = 0;
  const Steady::time_point latest = Steady::now() + moment_;  // of those that have lost theirs by now
  {
    const MutexLock guard(mutex_);
    if (last() <= Steady::now()) return false;
    before = went_;
  }
  announce_blocking();  // the message may be for who receives instead of this thread
  const MutexLock guard(mutex_);
  const auto until = [&]() CFFS_REQUIRES(mutex_) { return std::min(last(), latest); };
  while (until() > Steady::now()) (void)gone_.wait_until(mutex_, until());
  return went_ != before;
}

}  // namespace cffs
