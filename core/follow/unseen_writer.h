// A writer that does not see who follows it. Locks are how it hears of followers, and how they hear that there is one. Some file systems that
// are shared over a network keep them to the host that took them: then a store that is written to looks at rest, and who opened it would show
// for ever what it was.
//
// A table that goes on changing, of which nothing is kept, says so; that it changed once may be its last user's close. By one thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/table/checkpoint.h"

namespace cffs {

class UnseenWriter {
 public:
  // Before the store is opened as it is at rest.
  void begin(ObjectStore& store);
  // With each look for a checkpoint, this one being the last. True: somebody writes, and keeps nothing for us. Looks at the table every two
  // seconds, while no checkpoint says that it is kept.
  bool look(ObjectStore& store, const Checkpoint& checkpoint, std::int64_t now_ms);

 private:
  std::optional<std::uint64_t> sign_;            // of the table when it was last looked at
  std::optional<std::int64_t> first_change_ms_;  // of it, unpublished
  std::int64_t looked_ms_ = 0;
  bool is_there_ = false;
};

}  // namespace cffs
