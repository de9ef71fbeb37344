#include "replay/logs/strace_line.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

// Where the string that opens at text[at] ends: behind its closing quote.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Where the path that opens with '<' at text[at] ends. It may hold '>': the one counts that a separator follows.
std::size_t end_of_path(std::string_view text, std::size_t at) {
  while ((at = text.find('>', at)) != std::string_view::npos) {
    ++at;
    if (at == text.size() || std::string_view(",)]} (").find(text[at]) != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

bool opens_path(std::string_view text, std::size_t at) {
  if (at == 0 || at + 1 >= text.size() || text[at + 1] == '<') return false;
  const char before = text[at - 1];
  return (before >= '0' && before <= '9') || before == 'D';  // a number, or AT_FDCWD
}

// Splits at commas outside quotes, brackets and paths. Returns where the closing parenthesis is; npos: there is none.
std::size_t split_arguments(std::string_view text, std::vector<std::string_view>& arguments) {
  std::size_t begin = 0, at = 0;
  int depth = 0;
  const auto finish = [&](std::size_t end) {
    std::string_view argument = text.substr(begin, end - begin);
    while (argument.starts_with(' ')) argument.remove_prefix(1);
    while (argument.ends_with(' ')) argument.remove_suffix(1);  // before "<unfinished ...>"
    if (!argument.empty()) arguments.push_back(argument);
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_quoted(text, at);
      if (at == std::string_view::npos) return at;
      continue;
    }
    if (c == '<' && opens_path(text, at)) {
      at = end_of_path(text, at);
      if (at == std::string_view::npos) return at;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' && depth == 0) {
      finish(at);
      return at;
    }
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      finish(at);
      begin = at + 1;
    }
    ++at;
  }
  return std::string_view::npos;
}

constexpr std::array<std::pair<std::string_view, int>, 44> kErrors = {{
    {"EPERM", EPERM},
    {"ENOENT", ENOENT},
    {"EINTR", EINTR},
    {"EIO", EIO},
    {"ENXIO", ENXIO},
    {"E2BIG", E2BIG},
    {"EBADF", EBADF},
    {"EAGAIN", EAGAIN},
    {"ENOMEM", ENOMEM},
    {"EACCES", EACCES},
    {"EFAULT", EFAULT},
    {"EBUSY", EBUSY},
    {"EEXIST", EEXIST},
    {"EXDEV", EXDEV},
    {"ENODEV", ENODEV},
    {"ENOTDIR", ENOTDIR},
    {"EISDIR", EISDIR},
    {"EINVAL", EINVAL},
    {"ENFILE", ENFILE},
    {"EMFILE", EMFILE},
    {"ENOTTY", ENOTTY},
    {"ETXTBSY", ETXTBSY},
    {"EFBIG", EFBIG},
    {"ENOSPC", ENOSPC},
    {"ESPIPE", ESPIPE},
    {"EROFS", EROFS},
    {"EMLINK", EMLINK},
    {"EPIPE", EPIPE},
    {"ERANGE", ERANGE},
    {"EDEADLK", EDEADLK},
    {"ENAMETOOLONG", ENAMETOOLONG},
    {"ENOLCK", ENOLCK},
    {"ENOSYS", ENOSYS},
    {"ENOTEMPTY", ENOTEMPTY},
    {"ELOOP", ELOOP},
    {"ENODATA", ENODATA},
    {"EOVERFLOW", EOVERFLOW},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"ENOTSUP", ENOTSUP},
    {"ESTALE", ESTALE},
    {"EDQUOT", EDQUOT},
    {"ECHILD", ECHILD},
    {"ENOEXEC", ENOEXEC},
    {"ESRCH", ESRCH},
}};

constexpr std::array<std::pair<std::string_view, int>, 22> kOpenFlags = {{
    {"O_RDONLY", O_RDONLY},     {"O_WRONLY", O_WRONLY},   {"O_RDWR", O_RDWR},   {"O_CREAT", O_CREAT},
    {"O_EXCL", O_EXCL},         {"O_NOCTTY", O_NOCTTY},   {"O_TRUNC", O_TRUNC}, {"O_APPEND", O_APPEND},
    {"O_NONBLOCK", O_NONBLOCK}, {"O_DSYNC", O_DSYNC},     {"O_SYNC", O_SYNC},   {"O_DIRECTORY", O_DIRECTORY},
    {"O_NOFOLLOW", O_NOFOLLOW}, {"O_CLOEXEC", O_CLOEXEC}, {"O_PATH", O_PATH},   {"O_TMPFILE", O_TMPFILE},
    {"O_NOATIME", O_NOATIME},   {"O_DIRECT", O_DIRECT},   {"O_LARGEFILE", 0},   {"O_ASYNC", O_ASYNC},
    {"O_ACCMODE", O_ACCMODE},   {"O_NDELAY", O_NONBLOCK},
}};

// What follows the closing parenthesis: " = result <0.000012>".
bool take_result(std::string_view rest, StraceLine& into) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (!rest.starts_with("= ")) return false;
  rest.remove_prefix(2);
  if (rest.ends_with('>')) {
    const std::size_t open = rest.rfind(" <");
    std::int64_t ns = 0;
    if (open != std::string_view::npos && strace_time(rest.substr(open + 2, rest.size() - open - 3), ns)) {
      constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
      into.duration_ns = static_cast<std::uint32_t>(std::min(ns, kMost));
      rest = rest.substr(0, open);
    }
  }
  into.result = rest;
  return true;
}

}  // namespace

std::int64_t StraceClock::at(const StraceLine& line) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 2;  // whatever the recording says
  if (!line.time_ns) return now_ns_;
  if (line.relative) return now_ns_ = std::min(kMost, now_ns_ + *line.time_ns);
  const bool of_day = *line.time_ns < kDayNs;
  if (of_day) {
    if (*line.time_ns + kDayNs / 2 < last_of_day_ns_ && days_ns_ < kMost) days_ns_ += kDayNs;
    last_of_day_ns_ = *line.time_ns;
  }
  return now_ns_ = *line.time_ns + (of_day ? days_ns_ : 0);
}

// 1795228278.568819, 12:34:56, 12:34:56.789012, 0.000123: whole nanoseconds, since a double holds too few digits.
bool strace_time(std::string_view word, std::int64_t& time_ns) {
  std::int64_t seconds = 0, h = 0, m = 0;
  if (word.size() >= 8 && word[2] == ':' && word[5] == ':') {
    if (!whole_number(word.substr(0, 2), h) || !whole_number(word.substr(3, 2), m)) return false;
    word.remove_prefix(6);
  } else if (word.find('.') == std::string_view::npos) {
    return false;
  }
  const std::size_t point = std::min(word.find('.'), word.size());
  if (!whole_number(word.substr(0, point), seconds) || seconds < 0 || seconds > 100'000'000'000) return false;
  std::string_view fraction = word.substr(std::min(point + 1, word.size()));
  if (fraction.size() > 9) fraction = fraction.substr(0, 9);
  std::int64_t ns = 0;
  if (!fraction.empty() && !whole_number(fraction, ns)) return false;
  for (std::size_t i = fraction.size(); i < 9; ++i) ns *= 10;
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (seconds > std::numeric_limits<std::int64_t>::max() / kSecond - 100'000) return false;
  time_ns = (seconds + h * 3600 + m * 60) * kSecond + ns;
  return true;
}

int errno_of_name(std::string_view name) {
  for (const auto& [known, value] : kErrors) {
    if (known == name) return value;
  }
  return 0;
}

std::uint64_t c_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
  }
  std::uint64_t value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::uint32_t open_flags(std::string_view text) {
  std::uint32_t flags = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('|'));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    bool known = false;
    for (const auto& [name, value] : kOpenFlags) {
      if (name != word) continue;
      flags |= static_cast<std::uint32_t>(value);
      known = true;
    }
    if (!known) flags |= static_cast<std::uint32_t>(c_number(word));
  }
  return flags;
}

std::optional<std::string> quoted(std::string_view rest) {
  if (!rest.starts_with('"')) return {};
  std::string text;
  std::size_t at = 1;
  for (; at < rest.size() && rest[at] != '"'; ++at) {
    if (rest[at] != '\\' || at + 1 >= rest.size()) {
      text += rest[at];
      continue;
    }
    const char c = rest[++at];
    if (c >= '0' && c <= '7') {  // octal, one to three digits
      unsigned value = 0;
      std::size_t digits = 0;
      while (digits < 3 && at < rest.size() && rest[at] >= '0' && rest[at] <= '7') {
        value = value * 8 + static_cast<unsigned>(rest[at++] - '0');
        ++digits;
      }
      --at;
      text += static_cast<char>(value);
    } else if (c == 'x' && at + 2 < rest.size()) {  // -x: two hexadecimal digits
      unsigned value = 0;
      (void)std::from_chars(rest.data() + at + 1, rest.data() + at + 3, value, 16);
      at += 2;
      text += static_cast<char>(value);
    } else {
      constexpr std::string_view kFrom = "nrtfv", kTo = "\n\r\t\f\v";
      const std::size_t known = kFrom.find(c);
      text += known == std::string_view::npos ? c : kTo[known];
    }
  }
  if (at >= rest.size()) return {};
  return text;
}

StraceDescriptor descriptor_of(std::string_view text) {
  StraceDescriptor d;
  if (text.starts_with("AT_FDCWD")) {
    d.working_directory = true;
    text.remove_prefix(8);
  } else {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d.number);
    if (error != std::errc()) return d;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (!text.starts_with('<')) return d;
  const std::size_t end = end_of_path(text, 1);
  if (end == std::string_view::npos) return d;
  std::string_view path = text.substr(1, end - 2);
  if (path.ends_with(" (deleted)")) path.remove_suffix(10);
  if (path.ends_with("(deleted)")) path.remove_suffix(9);
  d.path = path;
  return d;
}

std::optional<std::int64_t> StraceLine::value() const {
  std::string_view rest = result;
  const std::string_view word = take_word(rest);
  if (word == "-1") {
    const int error = errno_of_name(take_word(rest));
    return error == 0 ? -EIO : -error;
  }
  if (word.starts_with("0x")) return static_cast<std::int64_t>(c_number(word));
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || (end != word.data() + word.size() && *end != '<')) return {};
  return number;
}

bool parse_strace_call(std::string_view text, StraceLine& into) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0) return false;
  into.name = text.substr(0, open);
  if (into.name.find_first_of(" \"<>=,") != std::string_view::npos) return false;
  text.remove_prefix(open + 1);
  into.arguments.clear();
  const std::size_t close = split_arguments(text, into.arguments);
  if (close == std::string_view::npos) return false;
  return take_result(text.substr(close + 1), into);
}

std::optional<StraceLine> parse_strace(std::string_view line) {
  StraceLine parsed;
  std::string_view rest = line;
  std::uint64_t process = 0;
  if (rest.starts_with("[pid ")) {
    rest.remove_prefix(5);
    const std::string_view pid = take_word(rest);
    if (!pid.ends_with(']') || !whole_number(pid.substr(0, pid.size() - 1), process)) return {};
    parsed.process = process;
  } else if (const std::size_t space = rest.find(' '); whole_number(rest.substr(0, space), process)) {
    (void)take_word(rest);
    parsed.process = process;
  }
  std::string_view after = rest;
  std::int64_t time_ns = 0;
  if (strace_time(take_word(after), time_ns)) {
    // Seconds without colons are the epoch's, unless there are far too few of them.
    constexpr std::int64_t kLongAgo = 100'000'000'000'000'000;  // 1973
    parsed.relative = time_ns < kLongAgo && rest.substr(0, rest.size() - after.size()).find(':') == rest.npos;
    rest = after;
    parsed.time_ns = time_ns;
  }
  constexpr std::string_view kUnfinished = "<unfinished ...>";
  if (rest.starts_with("+++")) {
    parsed.kind = rest.find("exited") != rest.npos || rest.find("killed") != rest.npos
                      ? StraceLine::Kind::exited
                      : StraceLine::Kind::other;
    return parsed;
  }
  if (rest.starts_with("---")) return parsed;
  if (rest.starts_with("<... ")) {
    rest.remove_prefix(5);
    parsed.name = take_word(rest);
    const std::size_t mark = rest.find("resumed>");
    if (mark != 0) return {};
    parsed.kind = StraceLine::Kind::resumed;
    parsed.text = rest.substr(8);
    return parsed;
  }
  if (rest.ends_with(kUnfinished)) {
    parsed.kind = StraceLine::Kind::unfinished;
    parsed.name = rest.substr(0, std::min(rest.find('('), rest.size()));
    parsed.text = rest.substr(0, rest.size() - kUnfinished.size());
    while (parsed.text.ends_with(' ')) parsed.text.remove_suffix(1);
    return parsed;
  }
  if (!parse_strace_call(rest, parsed)) return {};
  parsed.kind = StraceLine::Kind::call;
  return parsed;
}

}  // namespace cffs::replay
