// Traces as SQLite files (docs/TRACES.md), to be looked into with plain sqlite3.
//
// A file is there whole or not at all. It may be kept compressed (gz, xz, zst, bz2); reading undoes that in memory.
#pragma once

#include <functional>

#include "core/base/error.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

inline constexpr int kTraceVersion = 1;

Status write_trace(const std::string& path, const Trace& trace);
Result<Trace> read_trace(const std::string& path);
// Whether the file looks like a trace of this kind, compressed or not; anything that cannot be read is none.
bool is_trace_file(const std::string& path);

}  // namespace cffs::replay
