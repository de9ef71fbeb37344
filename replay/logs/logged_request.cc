#include "replay/logs/logged_request.h"

#include <array>
#include <chrono>

#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

template <typename T>
bool number(std::string_view word, T& value) {
  if (word == "-") {
    value = 0;
    return true;
  }
  return whole_number(word, value);
}

// The second of the quoted strings that follow status and size; the first is the referer.
std::string_view agent_in(std::string_view rest) {
  std::array<std::string_view, 2> quoted;  // referer, agent
  for (std::string_view& text : quoted) {
    const std::size_t open = rest.find('"');
    if (open == std::string_view::npos) return {};
    std::size_t close = open + 1;
    while (close < rest.size() && rest[close] != '"') close += rest[close] == '\\' ? 2 : 1;
    text = rest.substr(open + 1, std::min(close, rest.size()) - open - 1);
    rest.remove_prefix(std::min(close + 1, rest.size()));
  }
  return quoted[1];
}

// Status and size, as they follow a request's closing quote.
bool status_and_size(std::string_view rest, LoggedRequest& record) {
  const std::string_view status = take_word(rest);
  const std::string_view size = take_word(rest);
  return !status.empty() && !size.empty() && number(status, record.status) && number(size, record.size) &&
         (record.status == 0 || (record.status >= 100 && record.status <= 999));
}

}  // namespace

std::optional<std::int64_t> parse_log_time(std::string_view t) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (t.size() < 20 || t[2] != '/' || t[6] != '/' || t[11] != ':' || t[14] != ':' || t[17] != ':') return {};
  const auto digits = [&](std::size_t at, std::size_t n) {
    int value = 0;
    for (const char c : t.substr(at, n)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const std::size_t month = kMonths.find(t.substr(3, 3));
  const int day = digits(0, 2), year = digits(7, 4), h = digits(12, 2), m = digits(15, 2), s = digits(18, 2);
  if (month == std::string_view::npos || month % 3 != 0 || day < 1 || year < 0 || h < 0 || m < 0 || s < 0)
    return {};
  const auto date = std::chrono::year(year) / static_cast<int>(month / 3 + 1) / day;
  if (!date.ok()) return {};
  std::int64_t seconds =
      std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86'400 + h * 3600 + m * 60 + s;
  if (t.size() >= 26 && (t[21] == '+' || t[21] == '-')) {
    const int zone_h = digits(22, 2), zone_m = digits(24, 2);
    if (zone_h < 0 || zone_m < 0) return {};
    const int offset = zone_h * 3600 + zone_m * 60;
    seconds -= t[21] == '+' ? offset : -offset;
  }
  return seconds * 1000;
}

std::optional<LoggedRequest> parse_access_line(std::string_view line) {
  LoggedRequest record;
  std::string_view rest = line;
  record.client = take_word(rest);
  const std::size_t bracket = rest.find('[');
  const std::size_t closing = rest.find(']', bracket == std::string_view::npos ? 0 : bracket);
  if (record.client.empty() || bracket == std::string_view::npos || closing == std::string_view::npos)
    return {};
  std::string_view between = rest.substr(0, bracket);
  (void)take_word(between);  // ident
  record.user = take_word(between);
  record.time_ms = parse_log_time(rest.substr(bracket + 1, closing - bracket - 1)).value_or(0);
  rest.remove_prefix(closing + 1);
  const std::size_t quote = rest.find('"');
  if (quote == std::string_view::npos) return {};
  rest.remove_prefix(quote + 1);
  // The request ends at the first quote that a status and a size follow: some requests hold quotes themselves.
  for (std::size_t end = rest.find('"'); end != std::string_view::npos; end = rest.find('"', end + 1)) {
    const bool may_end = end + 1 < rest.size() && (rest[end + 1] == ' ' || rest[end + 1] == '\t');
    if (!may_end || !status_and_size(rest.substr(end + 1), record)) continue;
    std::string_view request = rest.substr(0, end);
    record.agent = agent_in(rest.substr(end + 1));
    record.method = take_word(request);
    const std::size_t start = request.find_first_not_of(' ');
    if (start == std::string_view::npos) return record;  // a request of one word, or none: no target
    request.remove_prefix(start);
    const std::size_t protocol = request.rfind(" HTTP/");
    record.target = request.substr(0, protocol);
    while (record.target.ends_with(' ')) record.target.remove_suffix(1);
    return record;
  }
  return {};
}

std::string_view path_of_target(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (scheme != std::string_view::npos && scheme < target.find_first_of("/?#")) {
    const std::size_t path = target.find('/', scheme + 3);
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  target = target.substr(0, target.find_first_of("?#"));
  return target.starts_with('/') ? target : std::string_view();
}

}  // namespace cffs::replay
