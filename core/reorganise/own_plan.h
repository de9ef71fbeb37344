// Groups mined from a store's own access record.
#pragma once

#include <cstdint>
#include <memory>

#include "core/fs/file_system.h"
#include "grouping/plan_groups.h"

namespace cffs {

struct OwnPlan {
  std::shared_ptr<const grouping::PlanGroups> groups;  // null: nothing that pays
  std::uint64_t accesses = 0, sessions = 0, files = 0;
  // Reads that the recorded sessions cost where files lie now, and with these groups.
  std::uint64_t reads_now = 0, reads_then = 0;
  std::uint64_t bytes_to_move = 0;
};

// `always`: also where it would not pay. `exchange_bytes`: what a request is worth on the store's medium; where it is known files
// are merged by what that saves, and moving has to pay by it; 0: it is not, frequent sets decide.
// ENOSPC: no room for the temporary file of sessions.
Result<OwnPlan> mine_own_accesses(FileSystem& fs, bool always, std::uint64_t exchange_bytes = 0);

}  // namespace cffs
