// Calls on attributes: stat, access, modes, owners, times, extended attributes.
#include <fcntl.h>

#include "replay/import/strace_calls.h"

namespace cffs::replay {

void StraceCalls::stat(Operation& o) {
  for (const std::string_view word : line.arguments) {
    if (!word.starts_with('{')) continue;
    const bool x = holds(word, "stx_mode=");
    const std::size_t at = word.find(x ? "stx_mode=" : "st_mode=");
    if (at != word.npos) {
      const std::string_view rest = word.substr(at + (x ? 9 : 8));
      o.mode = printed_mode(rest.substr(0, rest.find_first_of(",}")));
    }
    if (const auto size = field(word, x ? "stx_size=" : "st_size=")) o.length = *size;
  }
  in.emit(o);
}

void StraceCalls::stat_path(std::optional<PathId> path, bool follows) {
  Operation o = in.begin(Call::stat);
  o.flags = follows ? 1 : 0;
  if (in.target_path(o, path)) stat(o);
}

void StraceCalls::stat_file(std::size_t index) {
  Operation o = in.begin(Call::stat);
  if (in.target_file(o, in.file_argument(index, O_RDONLY))) stat(o);
}

// fstatat and statx: an empty path means the descriptor.
void StraceCalls::stat_at(std::size_t flags_index) {
  const auto path = quoted(argument(1));
  const StraceDescriptor directory = descriptor_of(argument(0));
  if ((!path || path->empty()) && !directory.working_directory) {
    stat_file(0);
  } else if (path) {
    stat_path(in.path_at(0, 1), !holds(argument(flags_index), "AT_SYMLINK_NOFOLLOW"));
  }
}

bool StraceCalls::attributes(std::string_view n) {
  const auto mode = [&](std::size_t i) { return static_cast<std::uint32_t>(c_number(argument(i))); };
  const auto xattr = [&](Call call, bool by_file) {
    Operation o = in.begin(call);
    if (const auto name = quoted(argument(1)); name && call != Call::listxattr)
      o.path2 = in.builder_.trace().intern(*name);
    if (call == Call::setxattr) o.length = c_number(argument(3));
    const bool good =
        by_file ? in.target_file(o, in.file_argument(0, O_RDONLY)) : in.target_path(o, in.path_argument(0));
    if (good) in.emit(o);
  };
  if (n == "stat" || n == "lstat") {
    stat_path(in.path_argument(0), n == "stat");
  } else if (n == "fstat") {
    stat_file(0);
  } else if (n == "newfstatat" || n == "fstatat64") {
    stat_at(3);
  } else if (n == "statx") {
    stat_at(2);
  } else if (n == "access") {
    on_path(Call::access, in.path_argument(0));
  } else if (n == "faccessat" || n == "faccessat2") {
    on_path(Call::access, in.path_at(0, 1));
  } else if (n == "chmod") {
    on_path(Call::chmod, in.path_argument(0), mode(1));
  } else if (n == "fchmod") {
    on_file(Call::chmod, 0, mode(1));
  } else if (n == "fchmodat" || n == "fchmodat2") {
    on_path(Call::chmod, in.path_at(0, 1), mode(2));
  } else if (n == "chown" || n == "lchown") {
    on_path(Call::chown, in.path_argument(0));
  } else if (n == "fchown") {
    on_file(Call::chown);
  } else if (n == "fchownat") {
    on_path(Call::chown, in.path_at(0, 1));
  } else if (n == "utimensat" || n == "futimesat") {
    if (quoted(argument(1))) {
      on_path(Call::utimens, in.path_at(0, 1));
    } else {
      on_file(Call::utimens);
    }
  } else if (n == "utime" || n == "utimes") {
    on_path(Call::utimens, in.path_argument(0));
  } else if (n == "getxattr" || n == "lgetxattr" || n == "fgetxattr") {
    xattr(Call::getxattr, n.starts_with('f'));
  } else if (n == "setxattr" || n == "lsetxattr" || n == "fsetxattr") {
    xattr(Call::setxattr, n.starts_with('f'));
  } else if (n == "listxattr" || n == "llistxattr" || n == "flistxattr") {
    xattr(Call::listxattr, n.starts_with('f'));
  } else if (n == "removexattr" || n == "lremovexattr" || n == "fremovexattr") {
    xattr(Call::removexattr, n.starts_with('f'));
  } else {
    return false;
  }
  return true;
}

}  // namespace cffs::replay
