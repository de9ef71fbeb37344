#include "replay/strace_log.h"

#include <array>

#include "replay/words.h"

namespace cffs::replay {
namespace {

// 1795228278.568819, 12:34:56, 12:34:56.789012, 0.000123
bool time_of(std::string_view word, std::int64_t& time_ms) {
  double seconds = 0;
  int h = 0, m = 0;
  if (word.size() >= 8 && word[2] == ':' && word[5] == ':') {
    if (!whole_number(word.substr(0, 2), h) || !whole_number(word.substr(3, 2), m)) return false;
    word.remove_prefix(6);
  } else if (word.find('.') == std::string_view::npos) {
    return false;
  }
  if (!whole_number(word, seconds) || !(seconds >= 0) || seconds > 1e11) return false;
  time_ms = static_cast<std::int64_t>(seconds * 1000) + (h * 60 + m) * 60'000;
  return true;
}

// The string between quotes at rest[0], escapes undone; `rest` continues behind it.
std::optional<std::string> take_quoted(std::string_view& rest) {
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
    } else {
      constexpr std::string_view kFrom = "nrtfv", kTo = "\n\r\t\f\v";
      const std::size_t known = kFrom.find(c);
      text += known == std::string_view::npos ? c : kTo[known];
    }
  }
  if (at >= rest.size()) return {};
  rest.remove_prefix(at + 1);
  return text;
}

// "3</path>" at the start of `text`: number and path. The path may hold '>', so it ends at the last one that a separator
// follows.
struct Descriptor {
  std::int64_t number = -1;
  std::string path;
};
Descriptor take_descriptor(std::string_view& text) {
  Descriptor d;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d.number);
  if (error != std::errc() && text.starts_with("AT_FDCWD")) {
    text.remove_prefix(8);
  } else {
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (!text.starts_with('<')) return d;
  std::size_t close = 1;
  while ((close = text.find('>', close)) != std::string_view::npos) {
    const std::string_view after = text.substr(close + 1);
    if (after.empty() || after.starts_with(',') || after.starts_with(')') || after.starts_with(' ')) break;
    ++close;
  }
  if (close == std::string_view::npos) return d;
  d.path = text.substr(1, close - 1);
  if (d.path.ends_with("(deleted)")) d.path.resize(d.path.size() - 9);
  text.remove_prefix(close + 1);
  return d;
}

std::string join(const std::string& directory, const std::string& path) {
  if (path.starts_with('/') || directory.empty()) return path;
  return directory + "/" + path;
}

bool reads(std::string_view flags) {
  return flags.find("O_WRONLY") == std::string_view::npos &&
         flags.find("O_DIRECTORY") == std::string_view::npos &&
         flags.find("O_PATH") == std::string_view::npos;
}

struct Parts {
  std::string_view name, arguments, result;
};

// call(arguments) = result
std::optional<Parts> split_call(std::string_view rest) {
  const std::size_t open = rest.find('(');
  const std::size_t equals = rest.rfind(" = ");
  if (open == std::string_view::npos || equals == std::string_view::npos || equals < open) return {};
  const std::size_t close = rest.rfind(')', equals);
  if (close == std::string_view::npos || close < open) return {};
  std::string_view result = rest.substr(equals + 3);
  return Parts{rest.substr(0, open), rest.substr(open + 1, close - open - 1), result};
}

void fill_open(const Parts& call, bool at, FileCall& out) {
  std::string_view rest = call.arguments;
  Descriptor directory;
  if (at) {
    directory = take_descriptor(rest);
    rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
  }
  const auto path = take_quoted(rest);
  std::string_view result = call.result;
  const Descriptor opened = take_descriptor(result);
  if (!path || opened.number < 0 || !reads(rest)) return;
  out.kind = FileCall::Kind::open;
  out.descriptor = opened.number;
  out.path = opened.path.starts_with('/') ? opened.path : join(directory.path, *path);
}

void fill_stat(const Parts& call, bool at, FileCall& out) {
  if (call.result != "0") return;
  std::string_view rest = call.arguments;
  Descriptor directory;
  std::optional<std::string> path;
  if (at || !rest.starts_with('"')) {
    directory = take_descriptor(rest);
    rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
  }
  if (rest.starts_with('"')) path = take_quoted(rest);
  const std::size_t size = rest.find("st_size=");
  if (rest.find("S_IFREG") == std::string_view::npos || size == std::string_view::npos) return;
  const std::string_view digits =
      rest.substr(size + 8, rest.find_first_not_of("0123456789", size + 8) - size - 8);
  if (!whole_number(digits, out.bytes)) return;
  out.path = path && !path->empty() ? join(directory.path, *path) : directory.path;
  if (!out.path.empty()) out.kind = FileCall::Kind::size;
}

}  // namespace

std::optional<FileCall> parse_strace_line(std::string_view line) {
  FileCall call;
  std::string_view rest = line;
  if (rest.starts_with("[pid ")) {
    rest.remove_prefix(5);
    const std::string_view pid = take_word(rest);
    if (!pid.ends_with(']') || !whole_number(pid.substr(0, pid.size() - 1), call.process)) return {};
  } else if (const std::size_t space = rest.find(' '); whole_number(rest.substr(0, space), call.process)) {
    (void)take_word(rest);
  }
  std::string_view after = rest;
  if (time_of(take_word(after), call.time_ms)) rest = after;
  if (rest.starts_with("---") || rest.starts_with("+++") || rest.starts_with("<...")) return call;
  if (rest.ends_with("<unfinished ...>")) return call;
  const auto parts = split_call(rest);
  if (!parts) return {};
  const std::string_view name = parts->name;
  if (name == "open" || name == "openat" || name == "openat2") {
    fill_open(*parts, name != "open", call);
  } else if (name == "execve" && parts->result == "0") {
    std::string_view arguments = parts->arguments;
    if (const auto path = take_quoted(arguments)) {
      call.kind = FileCall::Kind::open;
      call.path = *path;
    }
  } else if (name == "read" || name == "pread64" || name == "readv" || name == "preadv") {
    std::string_view arguments = parts->arguments;
    const Descriptor from = take_descriptor(arguments);
    if (whole_number(parts->result, call.bytes) && from.number >= 0) {
      call.kind = FileCall::Kind::read;
      call.descriptor = from.number;
      call.path = from.path;
    }
  } else if (name == "fstat" || name == "stat" || name == "lstat" || name == "newfstatat" ||
             name == "fstatat64") {
    fill_stat(*parts, name == "newfstatat" || name == "fstatat64" || name == "fstat", call);
  } else if (name.empty() || name.find_first_of(" \"<>=") != std::string_view::npos) {
    return {};
  }
  return call;
}

std::optional<FileCall> parse_trace_line(std::string_view line) {
  std::array<std::string_view, 9> column;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos && i + 1 < column.size()) return {};
    column[i] = line.substr(0, tab);
    line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  }
  FileCall call;
  std::int64_t microseconds = 0;
  if (!whole_number(column[0], microseconds) || !whole_number(column[1], call.process)) return {};
  call.time_ms = microseconds / 1000;
  const std::string_view op = column[2];
  std::int64_t result = -1;
  if (!whole_number(column[3], result) || result < 0) return call;  // failed
  call.path = column[5];
  if (op == "open" && reads(column[7])) {
    call.kind = FileCall::Kind::open;
    call.descriptor = result;
  } else if (op == "exec" || op == "execve") {
    call.kind = FileCall::Kind::open;
  } else if (op == "read" || op == "pread") {
    call.kind = FileCall::Kind::read;
    call.bytes = static_cast<std::uint64_t>(result);
    (void)whole_number(column[4], call.descriptor);
  } else if ((op == "stat" || op == "lstat" || op == "fstat") && column[8] == "f" &&
             whole_number(column[7], call.bytes)) {
    call.kind = FileCall::Kind::size;
  }
  return call;
}

}  // namespace cffs::replay
