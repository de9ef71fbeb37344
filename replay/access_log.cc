#include "replay/access_log.h"

#include <charconv>

namespace cffs::replay {
namespace {

std::string_view take_word(std::string_view& rest) {
  const std::size_t start = rest.find_first_not_of(' ');
  if (start == std::string_view::npos) {
    rest = {};
    return {};
  }
  rest.remove_prefix(start);
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  return word;
}

template <typename T>
bool number(std::string_view word, T& value) {
  if (word == "-") {
    value = 0;
    return true;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

// Status and size, as they follow a request's closing quote.
bool status_and_size(std::string_view rest, AccessRecord& record) {
  const std::string_view status = take_word(rest);
  const std::string_view size = take_word(rest);
  return !status.empty() && !size.empty() && number(status, record.status) && number(size, record.size) &&
         (record.status == 0 || (record.status >= 100 && record.status <= 999));
}

}  // namespace

std::optional<AccessRecord> parse_access_line(std::string_view line) {
  AccessRecord record;
  std::string_view rest = line;
  record.client = take_word(rest);
  const std::size_t bracket = rest.find('[');
  const std::size_t closing = rest.find(']', bracket == std::string_view::npos ? 0 : bracket);
  if (record.client.empty() || bracket == std::string_view::npos || closing == std::string_view::npos) return {};
  rest.remove_prefix(closing + 1);
  const std::size_t quote = rest.find('"');
  if (quote == std::string_view::npos) return {};
  rest.remove_prefix(quote + 1);
  // The request ends at the first quote that a status and a size follow: some requests hold quotes themselves.
  for (std::size_t end = rest.find('"'); end != std::string_view::npos; end = rest.find('"', end + 1)) {
    if (!status_and_size(rest.substr(end + 1), record)) continue;
    std::string_view request = rest.substr(0, end);
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
