// The daemon of a mount that follows, for who unmounts it: it has no lock by which it could be found.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

namespace cffs {

// Waits; false: somebody wants it to end.
using Waiting = std::function<bool(std::chrono::milliseconds)>;

// 0: it does not answer, or cannot be seen from here. Asked by a process of its own, for where the daemon is wedged that waits for ever.
pid_t follower_at(const std::string& mount_point, const Waiting& wait);
// It has nothing to make durable; but who unmounts what the store lies on next wants it gone. At most ten seconds.
void wait_for_end(pid_t daemon, const Waiting& wait);

}  // namespace cffs
