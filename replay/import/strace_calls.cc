#include "replay/import/strace_calls.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace cffs::replay {

std::optional<std::uint64_t> field(std::string_view structure, std::string_view name) {
  const std::size_t at = structure.find(name);
  if (at == structure.npos) return {};
  const std::string_view rest = structure.substr(at + name.size());
  return c_number(rest.substr(0, rest.find_first_of(",}|")));
}

std::uint32_t printed_mode(std::string_view text) {
  std::uint32_t mode = 0;
  if (holds(text, "S_IFREG")) mode |= S_IFREG;
  if (holds(text, "S_IFDIR")) mode |= S_IFDIR;
  if (holds(text, "S_IFLNK")) mode |= S_IFLNK;
  if (holds(text, "S_IFIFO")) mode |= S_IFIFO;
  if (holds(text, "S_IFSOCK")) mode |= S_IFSOCK;
  if (holds(text, "S_IFCHR")) mode |= S_IFCHR;
  if (holds(text, "S_IFBLK")) mode |= S_IFBLK;
  const std::size_t bar = text.rfind('|');
  return mode | static_cast<std::uint32_t>(c_number(text.substr(bar == text.npos ? 0 : bar + 1)));
}

void StraceCalls::on_path(Call call, std::optional<PathId> path, std::uint32_t mode, std::uint32_t flags) {
  Operation o = in.begin(call);
  o.mode = mode;
  o.flags = flags;
  if (in.target_path(o, path)) in.emit(o);
}

void StraceCalls::on_file(Call call, std::uint64_t length, std::uint32_t mode) {
  Operation o = in.begin(call);
  o.length = length;
  o.mode = mode;
  if (in.target_file(o, in.file_argument(0, call == Call::truncate ? O_WRONLY : O_RDONLY))) in.emit(o);
}

void StraceImporter::call(std::uint64_t pid, std::int64_t time_ns, const StraceLine& line) {
  pid_ = pid;
  time_ns_ = time_ns;
  line_ = &line;
  ++counts_.calls;
  const auto value = line.value();
  if (!value) {  // "?": the process ended in it
    ++counts_.passed_over;
    line_ = nullptr;
    return;
  }
  result_ = *value;
  StraceCalls calls{*this, line};
  if (!calls.names(line.name) && !calls.attributes(line.name) && !calls.data(line.name) &&
      !calls.processes(line.name)) {
    ++counts_.passed_over;
  }
  line_ = nullptr;
}

}  // namespace cffs::replay
