// Output of opensnoop.bt, one of bpftrace's own tools: who opened what on a whole machine. bcc's opensnoop prints the same
// columns, with -T seconds in front.
//
//   PID    COMM               FD ERR PATH
//   25706  ls                  3   0 /etc/ld.so.cache
//
// What a file was opened for is not in there, nor when, without -T; paths are as the program gave them.
#pragma once

#include <optional>
#include <string_view>

#include "replay/logs/file_call.h"

namespace cffs::replay {

// What is printed before the first line: by bpftrace, by the tool, the names of the columns.
bool is_opensnoop_heading(std::string_view line);
// `open` where it succeeded, else `other`, as for headings; nullopt: malformed.
std::optional<FileCall> parse_opensnoop_line(std::string_view line);

}  // namespace cffs::replay
