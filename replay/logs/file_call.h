// What a recorded system call says about reading files: from a line of strace's output, or of the tab-separated form of the
// same calls (docs/TRACES.md, "calls").
//
//   29755 1795228278.568819 openat(AT_FDCWD</proj/work>, "a.h", O_RDONLY|O_CLOEXEC) = 3</proj/work/a.h>
//   3648  29755  open  3  3  /proj/work/a.h  -  O_RDONLY|O_CLOEXEC  -
//
// The columns of the second: microseconds from the start, pid, call, result (-ENAME on failure), descriptor, path, second
// path, and two that depend on the call (open: flags and mode; stat: size and kind; docs/GROUPING.md).
//
// Of strace's output forms: a pid in front or in brackets ([pid 17]) or none, time stamps by -t, -tt, -ttt, -r or none,
// paths of descriptors (-y, -yy) or not. Calls that were cut in two ("unfinished", "resumed") carry no path in their
// second half and are passed over, as are signals and exits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cffs::replay {

class StraceClock;

struct FileCall {
  enum class Kind {
    open,   // for reading, or to run it; succeeded
    read,   // `bytes` were read from `path`
    size,   // the file is `bytes` long
    other,  // a well-formed line that says nothing about reading
  };
  Kind kind = Kind::other;
  std::uint64_t process = 0;
  std::int64_t time_ms = 0;
  std::string path;  // absolute where strace knew; else as the program gave it
  std::uint64_t bytes = 0;
  std::int64_t descriptor = -1;  // open: the new one; read: the one read from
};

// nullopt: malformed. `clock`: of the lines of one recording in a row, whose times may be since the line before; none: as the line has it.
std::optional<FileCall> parse_strace_line(std::string_view line, StraceClock* clock = nullptr);
std::optional<FileCall> parse_calls_line(std::string_view line);

}  // namespace cffs::replay
