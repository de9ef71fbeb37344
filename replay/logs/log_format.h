// The formats of logs in which accesses are looked for, and how a line tells its own.
#pragma once

#include <optional>
#include <string_view>

namespace cffs::replay {

enum class LogFormat {
  automatic,     // told by the first line that is of one of the others
  common,        // of web servers (logged_request.h)
  combined,      // the same with referer and agent
  json,          // requests as objects, one a line (access_log.h)
  w3c,           // W3C extended: IIS, CloudFront
  s3,            // S3 server access logs
  strace,        // strace's output (file_call.h)
  fatrace,       // of a whole machine (fatrace_events.h)
  opensnoop,     // of a whole machine (opensnoop_line.h)
  trace,         // strace's calls tab-separated, or a trace file
  transactions,  // item numbers, one transaction a line
};
std::optional<LogFormat> log_format(std::string_view name);  // "auto", "common", ...
std::string_view name_of(LogFormat format);
bool is_of_machine(LogFormat format);  // fatrace, opensnoop
bool is_access_log(LogFormat format);  // of a web server or the like
// What a line looks like; automatic: none of the others.
LogFormat format_of_line(std::string_view line);

}  // namespace cffs::replay
