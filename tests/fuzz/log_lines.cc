// Lines of every kind of log in which accesses are looked for.
#include "replay/logs/access_log.h"
#include "replay/logs/file_call.h"
#include "replay/logs/log_format.h"
#include "replay/logs/logged_request.h"
#include "replay/logs/site_path.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

void read_line(std::string_view line) {
  using namespace cffs::replay;
  (void)name_of(format_of_line(line));
  if (const auto request = parse_access_line(line)) {
    (void)path_of_target(request->target);
    (void)file_of_url_path(path_of_target(request->target));
  }
  for (const std::string_view fields : {"", "#Fields: date time c-ip cs-method cs-uri-stem sc-status"}) {
    AccessLog log;
    (void)log.parse(fields);
    if (const auto request = log.parse(line)) (void)path_of_target(request->target);
  }
  (void)parse_iso_time(line);
  (void)parse_log_time(line);
  (void)parse_strace_line(line);
  (void)parse_calls_line(line);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left = cffs::fuzz::text_of(data, size);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    read_line(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return 0;
}
