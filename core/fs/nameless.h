// What files without a name may hold: content in memory, composites by their handles. Above that, content stays in the table's
// chunks, or goes to an object, until the last reference goes.
//
// Where chunks or long attributes of such a file are in the table, a row says so (PendingRemoval::Kind::nameless), written in
// the batch that took the name: what a crash leaves is found by it and removed.
#pragma once

#include <chrono>
#include <string>

#include "core/fs/budget.h"
#include "core/fs/parting_files.h"
#include "core/fs/record_pins.h"

namespace cffs {

struct Nameless {
  Nameless(std::uint64_t most_bytes, std::uint64_t most_handles, std::chrono::milliseconds parting_moment)
      : bytes(most_bytes), composites(most_handles), parting(parting_moment) {}

  Budget bytes;
  Budget composites;
  RecordPins records;  // of those composites
  PartingFiles parting;
};

// Content that a node holds, and its share of the budget.
struct HeldContent {
  std::string bytes;
  Share share;
};

}  // namespace cffs
