// What Spark's tasks have cffs do of their part, as processes of their own between two pipes: reading lines by the rules that
// analyse() has, and mining closed sets. So there is one parser and one miner, whoever deals out the work.
//
// Both write frames (columns.h) and end with 0; a problem is a frame `E`.
#pragma once

#include <cstdio>

#include "replay/analysis/access_reader.h"

namespace cffs::replay {

// The accesses in these logs (`-`: standard input), read one after the other as one reader does. Streams and files are hashes, so that
// parts need not agree on numbers; a path is said once.
void write_accesses(const std::vector<std::string>& logs, const AccessReaderOptions& options, std::FILE* out);

// The format of the log that begins with this file, which may end anywhere; automatic: no known one.
LogFormat format_of_head(const std::string& path);

// From `in`: min_support u64, max_size u64, max_itemsets u64, parts u32, part u32, items u32, then frames `T`. To `out`: the closed sets
// whose lowest item, divided by `parts`, leaves `part` (grouping/mining/closed.h), frames `I`; `E`: more than max_itemsets.
void write_closed_part(std::FILE* in, std::FILE* out);

}  // namespace cffs::replay
