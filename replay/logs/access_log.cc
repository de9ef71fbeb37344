#include "replay/logs/access_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

using Json = nlohmann::json;

bool status_of(std::string_view word, int& status) {
  if (word == "-" || word.empty()) return true;
  return whole_number(word, status) && status >= 0 && status <= 999;
}

// False: it says none, and the size is what it was.
bool size_of(std::string_view word, std::uint64_t& size) {
  std::uint64_t found = 0;
  if (!whole_number(word, found)) return false;
  size = found;
  return true;
}

// The first of these names that an object has.
const Json* found(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto it = object.find(name); it != object.end()) return &*it;
  }
  return nullptr;
}

// A string, or a number as nginx and Caddy write it, or the first in a list of them; empty: neither.
std::string text_of(const Json* value) {
  if (value != nullptr && value->is_array() && !value->empty()) value = &value->front();
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  return value->is_number_integer() ? value->dump() : std::string();
}

// Seconds since the epoch, or a date.
std::int64_t time_of(const Json* value) {
  if (value == nullptr) return 0;
  double seconds = 0;
  if (value->is_number()) {
    seconds = value->get<double>();
  } else {
    const std::string text = text_of(value);
    if (const auto iso = parse_iso_time(text)) return *iso;
    if (const auto common = parse_log_time(text)) return *common;
    if (!whole_number(std::string_view(text), seconds)) return 0;
  }
  constexpr double kYear9999 = 253402300800;
  return seconds > 0 && seconds < kYear9999 ? std::llround(seconds * 1000) : 0;
}

// owner bucket [time] ip requester request-id operation key "request" status error sent size ...
std::optional<LoggedRequest> parse_s3(std::string_view line) {
  LoggedRequest record;
  const std::size_t open = line.find('['), close = line.find(']', open);
  const std::size_t quote = line.find('"', close);
  if (open == line.npos || close == line.npos || quote == line.npos) return {};
  std::string_view before = line.substr(0, open);
  (void)take_word(before);  // owner
  if (take_word(before).empty() || !before.empty()) return {};
  std::string_view between = line.substr(close + 1, quote - close - 1);
  record.client = take_word(between);
  record.user = take_word(between);
  (void)take_word(between);  // request
  const std::string_view operation = take_word(between);
  record.target = take_word(between);  // the key; "-": none
  if (record.target.empty() || !between.empty() || operation.find('.') == operation.npos) return {};
  std::size_t end = quote + 1;
  for (; end < line.size() && line[end] != '"'; ++end) {
    if (line[end] == '\\') ++end;
  }
  std::string_view rest = line.substr(std::min(end + 1, line.size()));
  const std::string_view status = take_word(rest);
  (void)take_word(rest);  // error
  const std::string_view sent = take_word(rest), size = take_word(rest);
  if (status.empty() || size.empty() || !status_of(status, record.status)) return {};
  size_of(size == "-" ? sent : size, record.size);
  record.time_ms = parse_log_time(line.substr(open + 1, close - open - 1)).value_or(0);
  if (operation.ends_with(".GET.OBJECT")) record.method = "GET";
  if (operation.ends_with(".HEAD.OBJECT")) record.method = "HEAD";
  // total time, turn-around time, then referer and agent in quotes
  for (int quoted = 0; quoted < 2; ++quoted) {
    const std::size_t from = rest.find('"');
    const std::size_t to = from == rest.npos ? rest.npos : rest.find('"', from + 1);
    if (to == rest.npos) return record;
    if (quoted == 1) record.agent = rest.substr(from + 1, to - from - 1);
    rest.remove_prefix(to + 1);
  }
  return record;
}

}  // namespace

std::optional<std::int64_t> parse_iso_time(std::string_view t) {
  const auto digits = [&](std::size_t at, std::size_t n) {
    int value = -1;
    return at + n <= t.size() && whole_number(t.substr(at, n), value) ? value : -1;
  };
  if (t.size() < 19 || t[4] != '-' || t[7] != '-' || (t[10] != 'T' && t[10] != ' ') || t[13] != ':' ||
      t[16] != ':')
    return {};
  const int year = digits(0, 4), month = digits(5, 2), day = digits(8, 2), h = digits(11, 2),
            m = digits(14, 2), s = digits(17, 2);
  const auto date = std::chrono::year(year) / month / day;
  if (year < 0 || month < 0 || day < 0 || !date.ok() || h < 0 || m < 0 || s < 0) return {};
  std::int64_t ms = (std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86'400 +
                     h * 3600 + m * 60 + s) *
                    1000;
  std::size_t at = 19;
  if (at < t.size() && t[at] == '.') {
    int scale = 100;
    for (++at; at < t.size() && t[at] >= '0' && t[at] <= '9'; ++at, scale /= 10) ms += (t[at] - '0') * scale;
  }
  if (at < t.size() && (t[at] == '+' || t[at] == '-')) {
    const std::size_t minutes_at = at + 3 < t.size() && t[at + 3] == ':' ? at + 4 : at + 3;
    const int zone_h = digits(at + 1, 2), zone_m = digits(minutes_at, 2);
    if (zone_h < 0 || zone_m < 0) return {};
    const std::int64_t offset = (zone_h * 3600 + zone_m * 60) * 1000;
    ms -= t[at] == '+' ? offset : -offset;
  }
  return ms;
}

std::optional<LoggedRequest> AccessLog::parse_json(std::string_view line) {
  const Json all = Json::parse(line, nullptr, false);
  if (!all.is_object()) return {};
  const Json* request = found(all, {"request"});
  const bool nested = request != nullptr && request->is_object();
  const Json& object = nested ? *request : all;
  kept_[kClient] = text_of(found(object, {"client_ip", "remote_ip", "remote_addr", "c-ip"}));
  kept_[kMethod] = text_of(found(object, {"method", "request_method", "cs-method"}));
  kept_[kTarget] = text_of(found(object, {"uri", "request_uri", "cs-uri-stem"}));
  kept_[kUser] = text_of(found(all, {"user_id", "remote_user"}));
  kept_[kAgent] = text_of(found(all, {"http_user_agent", "user_agent", "cs(User-Agent)"}));
  if (nested) {
    if (const Json* headers = found(object, {"headers"}); headers != nullptr && headers->is_object())
      kept_[kAgent] = text_of(found(*headers, {"User-Agent"}));
  } else if (const std::string text = text_of(request); !text.empty()) {  // the request's first line
    std::string_view rest = std::string_view(text).substr(0, text.rfind(" HTTP/"));
    kept_[kMethod].assign(take_word(rest));
    kept_[kTarget].assign(rest);
  }
  LoggedRequest record;
  if (!status_of(text_of(found(all, {"status", "sc-status"})), record.status)) return {};
  size_of(text_of(found(all, {"size", "body_bytes_sent", "bytes_sent", "sc-bytes"})), record.size);
  size_of(text_of(found(all, {"sc-content-len"})),
          record.size);  // without the headers, which sc-bytes counts
  if (const Json* date = found(all, {"date"}); date != nullptr && found(all, {"time"}) != nullptr) {
    record.time_ms = parse_iso_time(text_of(date) + " " + text_of(found(all, {"time"}))).value_or(0);
  } else {
    record.time_ms = time_of(found(all, {"ts", "msec", "time_iso8601", "time_local", "timestamp", "time"}));
  }
  record.client = kept_[kClient];
  record.method = kept_[kMethod];
  record.target = kept_[kTarget];
  record.user = kept_[kUser];
  record.agent = kept_[kAgent];
  return record;
}

std::optional<LoggedRequest> AccessLog::parse_fields(std::string_view line) const {
  LoggedRequest record;
  const bool tabs = line.find('\t') != line.npos;
  std::string_view date, time, rest = line;
  bool good = true, has_ip = false, has_length = false;
  for (const std::string& field : fields_) {
    if (rest.empty()) return {};
    const std::size_t end = std::min(rest.find(tabs ? '\t' : ' '), rest.size());
    const std::string_view value = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (field == "date") date = value;
    if (field == "time") time = value;
    if (field == "c-ip" || (field == "c-dns" && !has_ip)) record.client = value;
    has_ip = has_ip || field == "c-ip";
    if (field == "cs-username") record.user = value;
    if (field == "cs-method") record.method = value;
    if (field == "cs-uri-stem" || (field == "cs-uri" && record.target.empty())) record.target = value;
    if (field == "cs(User-Agent)") record.agent = value;
    if (field == "sc-status") good = good && status_of(value, record.status);
    // Bytes of the reply with its headers, and where it is told, those of the body alone.
    if (field == "sc-bytes" && !has_length) size_of(value, record.size);
    if (field == "sc-content-len") has_length = size_of(value, record.size);
  }
  if (!good || !rest.empty()) return {};
  std::string when(date.empty() ? std::string_view(date_) : date);
  when += ' ';
  when += time;
  record.time_ms = parse_iso_time(when).value_or(0);
  return record;
}

std::optional<LoggedRequest> AccessLog::parse(std::string_view line) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // sums of larger ones would be none
  auto record = parse_any(line);
  if (record && record->size > kMostBytes) record->size = 0;
  return record;
}

std::optional<LoggedRequest> AccessLog::parse_any(std::string_view line) {
  if (line.empty()) return {};
  if (line.front() == '#') {
    constexpr std::string_view kFields = "#Fields:";
    if (line.starts_with(kFields)) {
      fields_.clear();
      std::string names(line.substr(kFields.size()));
      std::replace(names.begin(), names.end(), '\t', ' ');
      std::string_view rest = names;
      for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest))
        fields_.emplace_back(word);
    }
    constexpr std::string_view kDate = "#Date:";
    if (line.starts_with(kDate)) {  // of the lines that follow, where they have only a time
      std::string_view rest = line.substr(kDate.size());
      date_ = take_word(rest);
    }
    return LoggedRequest{};
  }
  if (line.front() == '{') {
    format_ = LogFormat::json;
    return parse_json(line);
  }
  if (!fields_.empty()) {
    format_ = LogFormat::w3c;
    return parse_fields(line);
  }
  if (auto record = parse_s3(line)) {
    format_ = LogFormat::s3;
    kept_[kTarget].assign(1, '/').append(record->target);
    record->target = kept_[kTarget];
    return record;
  }
  auto record = parse_access_line(line);
  if (record) format_ = record->agent.empty() ? LogFormat::common : LogFormat::combined;
  return record;
}

}  // namespace cffs::replay
