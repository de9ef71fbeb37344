// A table of LevelDB made anew from what can be read of its files, where each read and write may fail and the power go at any moment.
#pragma once

#include <leveldb/options.h>

#include "core/object/object_store.h"

namespace cffs {

// Of the table in `folder`; LevelDB puts the old files into lost/ below it. `options.env` shows and makes its files on `store`.
// What it made is durable before it takes the place of what was there: whenever it is cut, the next one reads as much.
// An error: descriptors or memory were short for a read, or a write failed; from there on nothing took the place of anything.
Status repair_table(ObjectStore& store, const char* folder, leveldb::Options options);

}  // namespace cffs
