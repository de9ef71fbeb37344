// Output of fatrace(8), fanotify's front: what all processes of a machine did to its files.
//
//   17:58:27.698401 cat(3279): O   /srv/a.h          (-t: since midnight; -tt: since the epoch; else no time)
//   1795456707.690452 cat(3277): RC  /srv/a.h
//
// Letters: R read, W written, C closed, O opened; +, D, < and > are changes of a directory. Events of one process on one
// file that wait together are one line, so a read may come with its open and close or behind the one and before the
// other, and several reads of one open may be several lines. Names with blanks or parentheses are any process's right.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "replay/logs/file_call.h"

namespace cffs::replay {

// Lines in their order. Memory: bounded.
class FatraceEvents {
 public:
  // `open` for the first read of a file since a process opened it, else `other`; nullopt: malformed.
  std::optional<FileCall> parse(std::string_view line);

 private:
  std::set<std::pair<std::uint64_t, std::string>> reading_;  // process, path
  std::int64_t last_ns_ = 0, days_ns_ = 0;                   // -t begins again at midnight
};

}  // namespace cffs::replay
