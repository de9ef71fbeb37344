// A table of LevelDB made anew from what can be read of its files, where each read and write may fail and the power go at any moment.
#pragma once

#include <leveldb/options.h>

#include <optional>
#include <set>
#include <string>

#include "core/object/object_store.h"
#include "core/table/replay_check.h"

namespace leveldb {
class DB;
}

namespace cffs {

// Of the table in `folder`; LevelDB puts the old files into lost/ below it. `options.env` shows and makes its files on `store`.
// What it made is durable before it takes the place of what was there: whenever it is cut, the next one reads as much.
// A file whose footer or index cannot be read gives what its blocks have (whole_blocks.h). `parts`: nothing else counts; nullopt: all does.
// Returns those of which it has every row, though they were damaged.
// An error: descriptors or memory were short for a read, or a write failed; from there on nothing took the place of anything.
// Whoever opens the table next calls merge_repaired(): until then a lookup may find an older row than a scan.
Result<std::set<std::string>> repair_table(ObjectStore& store, const char* folder, leveldb::Options options,
                                           const std::optional<TableParts>& parts);

// Whether that is to be done.
Result<bool> is_table_unmerged(ObjectStore& store);
// LevelDB's repair puts all files at level 0, where a lookup takes the one with the highest number for the newest, which only LevelDB's flushes
// are: so all are merged into the next level, by the sequences of their rows. An error: not all of it was done, and the next one goes on.
Status merge_repaired(ObjectStore& store, leveldb::DB& db);

}  // namespace cffs
