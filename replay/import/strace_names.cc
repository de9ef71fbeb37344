// Calls on names: opened, made, moved, removed, listed.
#include <fcntl.h>

#include <memory>

#include "replay/import/strace_calls.h"

namespace cffs::replay {

void StraceCalls::open(std::size_t path_index, bool at) {
  Operation o = in.begin(Call::open);
  const auto path = quoted(argument(path_index));
  if (!path) return;
  std::string_view flags = argument(path_index + 1), mode = argument(path_index + 2);
  if (flags.starts_with('{')) {  // openat2's struct open_how
    const std::size_t from = flags.find("flags=");
    if (const auto m = field(flags, "mode=")) o.mode = static_cast<std::uint32_t>(*m);
    flags = from == flags.npos ? std::string_view() : flags.substr(from + 6);
    flags = flags.substr(0, flags.find_first_of(",}"));
  } else {
    o.mode = static_cast<std::uint32_t>(c_number(mode));
  }
  o.flags = open_flags(flags);
  const auto place = at ? in.path_at(path_index - 1, path_index) : in.path_argument(path_index);
  const StraceDescriptor opened = descriptor_of(line.result);
  opened_as(o, place, opened, *path, at ? path_index - 1 : path_index);
}

void StraceCalls::creat() {
  Operation o = in.begin(Call::open);
  o.flags = O_WRONLY | O_CREAT | O_TRUNC;
  o.mode = static_cast<std::uint32_t>(c_number(argument(1)));
  const auto path = quoted(argument(0));
  if (path) opened_as(o, in.path_argument(0), descriptor_of(line.result), *path, 0);
}

void StraceCalls::opened_as(Operation& o, std::optional<PathId> place, const StraceDescriptor& opened,
                            const std::string& path, std::size_t directory_index) {
  auto file = std::make_shared<OpenFile>();
  file->path = opened.path.starts_with('/') ? opened.path
                                            : in.absolute(descriptor_of(argument(directory_index)), path);
  file->line = in.counts_.lines;
  file->opener = in.pid_;
  file->appends = (o.flags & O_APPEND) != 0;
  if (in.target_path(o, place)) {
    if (in.result_ >= 0) {
      o.result = 0;
      o.handle = file->handle = in.builder_.new_handle();
      in.opened_to_redirect(*file, o.flags);
    }
    in.emit(o);
  }
  if (in.result_ >= 0) in.files_.put(in.pid_, in.result_, file, (o.flags & O_CLOEXEC) != 0);
}

void StraceCalls::two_paths(Call call, const std::string& from, const std::string& to, std::uint32_t flags) {
  Operation o = in.begin(call);
  o.flags = flags;
  const std::string& now = call == Call::link ? from : to;
  if (in.builder_.place_two(o, from, to, in.is_live_ ? now : std::string())) in.emit(o);
}

void StraceCalls::symlink(std::size_t target_index, std::optional<PathId> path) {
  const auto target = quoted(argument(target_index));
  Operation o = in.begin(Call::symlink);
  if (!target || !in.target_path(o, path)) return;
  o.path2 = in.builder_.trace().intern(*target);
  in.emit(o);
}

bool StraceCalls::names(std::string_view n) {
  const auto mode = [&](std::size_t i) { return static_cast<std::uint32_t>(c_number(argument(i))); };
  if (n == "open") {
    open(0, false);
  } else if (n == "openat" || n == "openat2") {
    open(1, true);
  } else if (n == "creat") {
    creat();
  } else if (n == "mkdir") {
    on_path(Call::mkdir, in.path_argument(0), mode(1));
  } else if (n == "mkdirat") {
    on_path(Call::mkdir, in.path_at(0, 1), mode(2));
  } else if (n == "mknod") {
    on_path(Call::mknod, in.path_argument(0), printed_mode(argument(1)));
  } else if (n == "mknodat") {
    on_path(Call::mknod, in.path_at(0, 1), printed_mode(argument(2)));
  } else if (n == "rmdir") {
    on_path(Call::rmdir, in.path_argument(0));
  } else if (n == "unlink") {
    on_path(Call::unlink, in.path_argument(0));
  } else if (n == "unlinkat") {
    on_path(holds(argument(2), "AT_REMOVEDIR") ? Call::rmdir : Call::unlink, in.path_at(0, 1));
  } else if (n == "rename") {
    two_paths(Call::rename, in.absolute_argument(0), in.absolute_argument(1));
  } else if (n == "renameat" || n == "renameat2") {
    const std::uint32_t flags = (holds(argument(4), "RENAME_NOREPLACE") ? 1u : 0u) |
                                (holds(argument(4), "RENAME_EXCHANGE") ? 2u : 0u);
    two_paths(Call::rename, in.absolute_at(0, 1), in.absolute_at(2, 3), flags);
  } else if (n == "link") {
    two_paths(Call::link, in.absolute_argument(0), in.absolute_argument(1));
  } else if (n == "linkat") {
    two_paths(Call::link, in.absolute_at(0, 1), in.absolute_at(2, 3));
  } else if (n == "symlink") {
    symlink(0, in.path_argument(1));
  } else if (n == "symlinkat") {
    symlink(0, in.path_at(1, 2));
  } else if (n == "readlink") {
    on_path(Call::readlink, in.path_argument(0));
  } else if (n == "readlinkat") {
    on_path(Call::readlink, in.path_at(0, 1));
  } else if (n == "getdents64" || n == "getdents") {
    list();
  } else {
    return false;
  }
  return true;
}

}  // namespace cffs::replay
