// Web-server access logs: Common and Combined Log Format, with the liberties that real servers take.
//
//   host ident user [day/month/year:h:m:s zone] "METHOD target PROTOCOL" status size [anything more]
//
// Accepted: `-` for the size and for the status; quotes inside the request (the first one that a status and a size follow ends it);
// escaped quotes; requests without a protocol (HTTP/0.9). A line that cannot be read that way is malformed: counted and
// sampled by the caller, never fatal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cffs::replay {

struct LoggedRequest {
  std::string_view client;
  std::string_view method;
  std::string_view target;   // as logged: path and query, or an absolute URI
  int status = 0;            // 0: none logged
  std::uint64_t size = 0;    // bytes sent; 0 where none were logged
  std::string_view user;     // as authenticated; "-" for most
  std::int64_t time_ms = 0;  // since the epoch; 0: not readable
  std::string_view agent;    // Combined only, quotes removed; empty where not logged
};

// Views into `line`. nullopt: malformed.
std::optional<LoggedRequest> parse_access_line(std::string_view line);

// "01/Aug/1995:02:00:00 -0400" as milliseconds since the epoch; nullopt where it is something else.
std::optional<std::int64_t> parse_log_time(std::string_view text);

// The path of a target: query and fragment cut off, scheme and host of an absolute URI too. Empty: not a path.
std::string_view path_of_target(std::string_view target);

}  // namespace cffs::replay
