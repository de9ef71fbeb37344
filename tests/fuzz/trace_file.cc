// A trace file: SQLite's format, of which somebody else's file is read, compressed or not.
#include "replay/trace/trace_file.h"

#include "replay/trace/trace_summary.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/scratch_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cffs;
  static fuzz::ScratchFile file;
  const std::string& path = file.with(fuzz::text_of(data, size));
  (void)replay::is_trace_file(path);
  const auto trace = replay::read_trace(path);
  if (!trace) {
    CFFS_INVARIANT(!trace.error().message().empty());
    return 0;
  }
  for (const replay::Operation& o : trace->operations) {
    CFFS_INVARIANT(o.path == replay::kNoPath || o.path < trace->paths().size());
  }
  return 0;
}
