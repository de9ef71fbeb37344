// strace's output, taken apart and made a trace.
#include "replay/import/strace_import.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using namespace cffs::replay;

void take_apart(std::string_view line) {
  const auto parsed = parse_strace(line);
  if (!parsed) return;
  (void)parsed->value();
  for (const std::string_view argument : parsed->arguments) {
    (void)descriptor_of(argument);
    (void)quoted(argument);
    (void)open_flags(argument);
    (void)c_number(argument);
    (void)errno_of_name(argument);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  TraceBuilder builder("/");
  StraceImporter importer(builder, "/start");
  std::string_view left = cffs::fuzz::text_of(data, size);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    take_apart(left.substr(0, end));
    importer.line(std::string(left.substr(0, end)));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  importer.finish();
  const Trace trace = builder.finish();
  for (const Operation& o : trace.operations)
    CFFS_INVARIANT(o.path == kNoPath || o.path < trace.paths().size());
  return 0;
}
