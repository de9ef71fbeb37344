// The daemon of a mount, found by the mount itself: the store's path may lead elsewhere by now (its directory was moved, or is another
// store's), the mount may have another name (fsname=), and one that follows has no lock by which it could be found.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"
#include "fusefs/mount_table.h"

namespace cffs {

// Waits; false: somebody wants it to end.
using Waiting = std::function<bool(std::chrono::milliseconds)>;

// 0: it cannot be seen from here, or does not answer. The kernel tells which connection a process serves (Linux 6.16); before that the
// daemon is asked, by a process of its own, for where it is wedged that waits for ever; at most 2 s.
pid_t daemon_of(const MountEntry& mount, const Waiting& wait);

// A process, until it ends; its number may be used again then, which is not taken for it.
class RunningDaemon {
 public:
  explicit RunningDaemon(pid_t process);  // 0: there is none
  pid_t process() const { return process_; }
  bool runs() const;
  // Asks it to end in good order (SIGTERM).
  Status end() const;

 private:
  const pid_t process_;
  const FileDescriptor handle_;  // not there before Linux 5.3
};

// A daemon that follows has nothing to make durable; but who unmounts what the store lies on next wants it gone. At most ten seconds.
void wait_for_end(const RunningDaemon& daemon, const Waiting& wait);

}  // namespace cffs
