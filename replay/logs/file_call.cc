#include "replay/logs/file_call.h"

#include <array>

#include "replay/logs/strace_line.h"
#include "replay/logs/words.h"

namespace cffs::replay {
namespace {

std::string join(const std::string& directory, const std::string& path) {
  if (path.starts_with('/') || directory.empty()) return path;
  return directory + "/" + path;
}

bool reads(std::string_view flags) {
  return flags.find("O_WRONLY") == std::string_view::npos &&
         flags.find("O_DIRECTORY") == std::string_view::npos &&
         flags.find("O_PATH") == std::string_view::npos;
}

std::string_view argument(const StraceLine& line, std::size_t index) {
  return index < line.arguments.size() ? line.arguments[index] : std::string_view();
}

void fill_open(const StraceLine& line, bool at, FileCall& out) {
  const StraceDescriptor directory = at ? descriptor_of(argument(line, 0)) : StraceDescriptor{};
  const auto path = quoted(argument(line, at ? 1 : 0));
  const StraceDescriptor opened = descriptor_of(line.result);
  if (!path || opened.number < 0 || !reads(argument(line, at ? 2 : 1))) return;
  out.kind = FileCall::Kind::open;
  out.descriptor = opened.number;
  out.path = opened.path.starts_with('/') ? opened.path : join(directory.path, *path);
}

void fill_stat(const StraceLine& line, FileCall& out) {
  if (line.result != "0") return;
  StraceDescriptor directory;
  std::optional<std::string> path;
  for (const std::string_view word : line.arguments) {
    if (const auto text = quoted(word); text && !path) {
      path = text;
    } else if (word.starts_with('{')) {
      const std::size_t size = word.find("st_size=");
      if (word.find("S_IFREG") == word.npos || size == word.npos) return;
      const std::size_t end = word.find_first_not_of("0123456789", size + 8);
      if (!whole_number(word.substr(size + 8, end - size - 8), out.bytes)) return;
      out.kind = FileCall::Kind::size;
    } else if (!path) {
      directory = descriptor_of(word);
    }
  }
  out.path = path && !path->empty() ? join(directory.path, *path) : directory.path;
  if (out.path.empty()) out.kind = FileCall::Kind::other;
}

}  // namespace

std::optional<FileCall> parse_strace_line(std::string_view text, StraceClock* clock) {
  const auto line = parse_strace(text);
  if (!line) return {};
  FileCall call;
  call.process = line->process.value_or(0);
  call.time_ms = (clock != nullptr ? clock->at(*line) : line->time_ns.value_or(0)) / 1'000'000;
  if (line->kind != StraceLine::Kind::call) return call;
  const std::string_view name = line->name;
  if (name == "open" || name == "openat" || name == "openat2") {
    fill_open(*line, name != "open", call);
  } else if (name == "execve" && line->result == "0") {
    if (const auto path = quoted(argument(*line, 0))) {
      call.kind = FileCall::Kind::open;
      call.path = *path;
    }
  } else if (name == "read" || name == "pread64" || name == "readv" || name == "preadv") {
    const StraceDescriptor from = descriptor_of(argument(*line, 0));
    if (whole_number(line->result, call.bytes) && from.number >= 0) {
      call.kind = FileCall::Kind::read;
      call.descriptor = from.number;
      call.path = from.path;
    }
  } else if (name == "fstat" || name == "stat" || name == "lstat" || name == "newfstatat" ||
             name == "fstatat64") {
    fill_stat(*line, call);
  }
  return call;
}

std::optional<FileCall> parse_calls_line(std::string_view line) {
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
