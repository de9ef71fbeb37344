#include "replay/logs/log_format.h"

#include <array>
#include <utility>

#include "replay/logs/access_log.h"
#include "replay/logs/fatrace_events.h"
#include "replay/logs/file_call.h"
#include "replay/logs/opensnoop_line.h"

namespace cffs::replay {
namespace {

constexpr std::array<std::pair<std::string_view, LogFormat>, 11> kFormats = {
    {{"auto", LogFormat::automatic},
     {"common", LogFormat::common},
     {"combined", LogFormat::combined},
     {"json", LogFormat::json},
     {"w3c", LogFormat::w3c},
     {"s3", LogFormat::s3},
     {"strace", LogFormat::strace},
     {"fatrace", LogFormat::fatrace},
     {"opensnoop", LogFormat::opensnoop},
     {"trace", LogFormat::trace},
     {"transactions", LogFormat::transactions}}};

}  // namespace

std::optional<LogFormat> log_format(std::string_view name) {
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
  }
  return {};
}

std::string_view name_of(LogFormat format) {
  for (const auto& [name, known] : kFormats) {
    if (known == format) return name;
  }
  return "?";
}

bool is_of_machine(LogFormat format) {
  return format == LogFormat::fatrace || format == LogFormat::opensnoop;
}

bool is_access_log(LogFormat format) {
  switch (format) {
    case LogFormat::common:
    case LogFormat::combined:
    case LogFormat::json:
    case LogFormat::w3c:
    case LogFormat::s3:
      return true;
    default:
      return false;
  }
}

LogFormat format_of_line(std::string_view line) {
  if (line.starts_with("#Fields:")) return LogFormat::w3c;
  AccessLog log;
  if (const auto request = log.parse(line); request && !request->method.empty()) return log.format();
  if (parse_calls_line(line)) return LogFormat::trace;
  if (FatraceEvents().parse(line)) return LogFormat::fatrace;
  if (parse_opensnoop_line(line)) return LogFormat::opensnoop;
  if (const auto call = parse_strace_line(line); call && line.find('(') != std::string_view::npos)
    return LogFormat::strace;
  if (line.find_first_not_of("0123456789 ") == std::string_view::npos && !line.empty())
    return LogFormat::transactions;
  return LogFormat::automatic;
}

}  // namespace cffs::replay
