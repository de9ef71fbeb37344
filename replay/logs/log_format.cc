#include "replay/logs/log_format.h"

#include <array>
#include <utility>

#include "replay/logs/file_call.h"
#include "replay/logs/logged_request.h"

namespace cffs::replay {
namespace {

constexpr std::array<std::pair<std::string_view, LogFormat>, 6> kFormats = {
    {{"auto", LogFormat::automatic},
     {"common", LogFormat::common},
     {"combined", LogFormat::combined},
     {"strace", LogFormat::strace},
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

LogFormat format_of_line(std::string_view line) {
  if (const auto request = parse_access_line(line))
    return request->agent.empty() ? LogFormat::common : LogFormat::combined;
  if (parse_calls_line(line)) return LogFormat::trace;
  if (const auto call = parse_strace_line(line); call && line.find('(') != std::string_view::npos)
    return LogFormat::strace;
  if (line.find_first_not_of("0123456789 ") == std::string_view::npos && !line.empty())
    return LogFormat::transactions;
  return LogFormat::automatic;
}

}  // namespace cffs::replay
