#include "replay/logs/opensnoop_line.h"

#include "replay/logs/strace_line.h"
#include "replay/logs/words.h"

namespace cffs::replay {

bool is_opensnoop_heading(std::string_view line) {
  if (line.starts_with("Tracing open syscalls")) return true;
  if (line.starts_with("Attaching ")) return line.ends_with(" probes...");
  std::string_view word = take_word(line);
  if (word == "TIME(s)") word = take_word(line);
  return word == "PID" && take_word(line) == "COMM" && take_word(line) == "FD" && take_word(line) == "ERR";
}

std::optional<FileCall> parse_opensnoop_line(std::string_view line) {
  constexpr std::size_t kNameColumns = 16;  // the kernel's names have 15 bytes, any of them blanks
  FileCall call;
  if (is_opensnoop_heading(line)) return call;
  std::string_view word = take_word(line);
  if (std::int64_t ns = 0; word.find('.') != word.npos && strace_time(word, ns)) {
    call.time_ms = ns / 1'000'000;
    word = take_word(line);
  }
  if (!whole_number(word, call.process) || line.size() <= kNameColumns) return {};
  line.remove_prefix(kNameColumns);
  if (!line.starts_with(' ')) return {};
  int error = 0;
  if (!whole_number(take_word(line), call.descriptor)) return {};
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view code = line.substr(0, line.find(' '));
  if (!whole_number(code, error) || code.size() == line.size()) return {};
  line.remove_prefix(code.size() + 1);
  if (error != 0 || call.descriptor < 0 || line.empty()) return call;
  call.kind = FileCall::Kind::open;
  call.path = line;
  return call;
}

}  // namespace cffs::replay
