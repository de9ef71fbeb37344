// Access logs of web servers, object stores and content networks, line by line, whatever their form:
//
//   common, combined  logged_request.h
//   json              one object a line: Caddy's, or nginx's with `escape=json` and the usual names of its variables
//   w3c               W3C Extended Log File Format, fields as the last `#Fields:` line says, between blanks (IIS) or tabs
//                     (CloudFront)
//   s3                Amazon S3 server access log; of its operations GET.OBJECT and HEAD.OBJECT are requests, on the key
//
// A line of such a log that is no request has an empty method.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/logs/log_format.h"
#include "replay/logs/logged_request.h"

namespace cffs::replay {

class AccessLog {
 public:
  // Views into `line` or into this object, good until the next call. nullopt: malformed. A line that says something of the
  // log itself (`#...`) is a request without a method. A size beyond 1 PiB is none: 0.
  std::optional<LoggedRequest> parse(std::string_view line);
  // Of the request parsed last.
  LogFormat format() const { return format_; }

 private:
  std::optional<LoggedRequest> parse_any(std::string_view line);
  std::optional<LoggedRequest> parse_json(std::string_view line);
  std::optional<LoggedRequest> parse_fields(std::string_view line) const;

  LogFormat format_ = LogFormat::automatic;
  std::vector<std::string> fields_;  // of the last `#Fields:` line
  std::string date_;                 // of the last `#Date:` line
  enum Kept { kClient, kMethod, kTarget, kUser, kAgent, kKept };
  std::array<std::string, kKept> kept_;
};

// "2022-03-09T21:30:01.5+01:00", "2022-03-09 21:30:01" (UTC) as milliseconds since the epoch.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

}  // namespace cffs::replay
