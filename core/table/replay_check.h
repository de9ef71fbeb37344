// What LevelDB will replay when it opens the table, judged before it does.
//
// A log may end torn: what was not synced when the power went reaches the medium in any part and order. Such a tail is cut off
// at its first damage, so that what is replayed is a prefix of what was written, and everything behind it, later logs
// included, is dropped with it. Damage in what had been made durable is rot, and refused: replayed around it, later changes
// would appear without earlier ones, and what looks unused would be removed.
//
// The two are told apart by notes in the log itself. After each sync one says how far the logs are durable
// (SystemField::log_synced), and a closed store's last record takes the mark of an open one away: what lies before such a
// note was durable. A tail whose note did not reach the medium looks like a torn one.
//
// What the medium does not give reads as zeros here, in steps of 4 KiB, and is rot: no power cut leaves a sector that cannot be read, and
// what it held may have been acknowledged.
//
// A log that lost its last records, whole or in part, has lost those notes with them. What was there when the store was closed is
// noted beside it, too (core/table/close_note.h): whatever is shorter than that was cut, and refused as rot is.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/object/object_store.h"
#include "core/table/close_note.h"

namespace cffs {

struct LogDamage {
  std::string object;      // "table/000005.log"
  std::uint64_t at = 0;    // the first byte that cannot be read, or that is left out
  std::uint64_t size = 0;  // of the object
  bool was_durable = false;
  bool missing = false;   // all of it; it had been durable
  std::uint64_t had = 0;  // bytes when the store was closed, where it has fewer now
  bool is_older = false;  // it is CURRENT, and names a manifest from before the store was closed
  std::optional<std::uint64_t> refused;  // the first byte that the medium does not give, if any

  std::string sentence() const;
};

// What a manifest that is whole says the table consists of. Other files of its time wait for their removal, or for who follows: without what
// had been removed from others since, their rows would show again.
struct TableParts {
  std::set<std::uint64_t> files;
  std::uint64_t next_file = 0;  // what has a number from here on is newer than the manifest
  std::uint64_t first_log = 0;  // earlier ones are in files

  bool has_file(std::uint64_t number) const { return number >= next_file || files.contains(number); }
};

struct ReplayPlan {
  std::map<std::string, std::string> instead;  // object: what LevelDB is to read in its place
  std::map<std::string, std::uint64_t> until;  // object: how far LevelDB is to read it, bytes
  std::vector<LogDamage> dropped;              // empty: everything is replayed
  bool no_table = false;                       // not a file of one is there
  bool closed =
      false;  // nothing is damaged, and the last record of the last log says that the store was closed
  bool rebuild = false;  // CURRENT or the manifest is lost; leveldb::RepairDB makes one from what is there
  std::optional<TableParts> parts;  // as the manifest says, where it is whole
};

// Reads CURRENT, the manifest and the logs of the table in `folder`, and holds them against `note`, where there is one; where values are apart, also those that rows which may not have been durable
// name (core/table/value_log.h): without its values such a row is part of a torn tail. Damage in what was durable: `corruption`, in one sentence that
// names object, byte and cure; with keep_what_is_whole no error, and what is whole on both sides of it is replayed.
Result<ReplayPlan> check_replay(ObjectStore& store, const std::string& folder, bool keep_what_is_whole,
                                bool values_apart, const std::optional<CloseNote>& note = std::nullopt);

}  // namespace cffs
