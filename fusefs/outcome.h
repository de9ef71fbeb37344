// How a daemon's last commit went, for who waits for its end from outside: written into memory that outlives the process while somebody has
// it open. So it is heard also where the store's medium takes nothing any more, and a daemon that was killed has said nothing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs {

// The daemon's end of it.
class Outcome {
 public:
  Outcome();
  // Of the store's closing; only the first word counts.
  void tell(const Status& closed);

 private:
  const FileDescriptor memory_;
  bool told_ = false;
};

// Of a process that serves a mount, found while it runs; 0: none. Nothing is known of one in another pid namespace or another user's.
class SeenOutcome {
 public:
  explicit SeenOutcome(pid_t process);
  bool is_known() const { return static_cast<bool>(memory_); }
  // Nothing: it has not said it (yet). An error, where not everything is on the medium.
  std::optional<Status> outcome() const;

 private:
  const FileDescriptor memory_;
};

}  // namespace cffs
