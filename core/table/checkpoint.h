// A checkpoint: what of a store in use makes one state of it, for those who read it beside its writer (docs/FOLLOWING.md).
//
// The table's files never change and its logs and manifest only grow, so a state of the table is a length of each of these; and
// what rows name is found by its name. The object is written in place, in one write: whoever reads half of an earlier one sees
// a checksum that is wrong, and reads again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/object/object_store.h"

namespace cffs {

// What LevelDB would replay to have the table as it was.
struct TableState {
  std::string manifest;                                     // "table/MANIFEST-000004"
  std::uint64_t manifest_bytes = 0;                         // it ends there
  std::vector<std::pair<std::string, std::uint64_t>> logs;  // in order; each ends there
  friend bool operator==(const TableState&, const TableState&) = default;
};

struct Checkpoint {
  std::uint64_t sequence = 0;  // grows with each; 0: none
  std::uint64_t oldest = 0;    // what those before it need may be gone
  bool kept = false;           // what it needs stays, for `keep_ms` after the next one
  std::uint64_t keep_ms = 0;
  std::int64_t at_ns = 0;            // the writer's clock
  std::uint64_t interval_ms = 0;     // between two of them, where something changes
  std::optional<std::uint64_t> files;  // inodes of the store, where that is known
  TableState table;
};

inline constexpr const char* kCheckpointObject = "checkpoint";

std::string encode_checkpoint(const Checkpoint& checkpoint);
// `corruption`: these bytes are none.
Result<Checkpoint> decode_checkpoint(std::string_view bytes);

// The last one that was published; one with sequence 0 where there never was any, or it is no whole one
// or cannot be read.
Result<Checkpoint> read_checkpoint(ObjectStore& store);
// In place of the last one; durable on return.
Status write_checkpoint(ObjectStore& store, const Checkpoint& checkpoint);

// The state that goes with these logs, which were looked at before: the manifest, as far as it goes by now.
Result<TableState> table_state(ObjectStore& store, std::vector<std::pair<std::string, std::uint64_t>> logs);
// Another number, but for chance, when something was written to the table since: by its names and the ends of its logs. Some
// twenty small reads.
Result<std::uint64_t> table_sign(ObjectStore& store);
// Of a table that nobody has open for writing.
Result<TableState> table_state_at_rest(ObjectStore& store);

}  // namespace cffs
