// Traces as SQLite files (docs/TRACES.md), to be looked into with plain sqlite3.
//
// A file is there whole or not at all. It may be kept compressed (gz, xz, zst, bz2); reading undoes that in memory.
#pragma once

#include <functional>
#include <optional>

#include "core/database/database.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

inline constexpr int kTraceVersion = 1;

// Writes a trace bit by bit, as it comes. Where that failed once nobody knows what of it is in the file: nothing is written any more,
// and it does not take its name.
class TraceWriter {
 public:
  static Result<TraceWriter> create(const std::string& path);
  // Writes the operations, and the paths and clients that are new since the last call; takes the operations out.
  Status append(Trace& trace);
  // Writes the rest; the file takes its name.
  Status finish(const Trace& trace);

 private:
  explicit TraceWriter(Database db) : db_(std::move(db)) {}
  Status write(const Trace& trace);

  Database db_;
  std::size_t paths_ = 0, clients_ = 0;
  std::uint64_t operations_ = 0;
  bool begun_ = false;           // a write, which has not come to its end
  std::optional<Error> failed_;  // why
};

Status write_trace(const std::string& path, const Trace& trace);
Result<Trace> read_trace(const std::string& path);
// Whether the file looks like a trace of this kind, compressed or not; anything that cannot be read is none.
bool is_trace_file(const std::string& path);

}  // namespace cffs::replay
