// What each system call of a recording means for a file system.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "replay/trace/strace_import.h"
#include "replay/words.h"

namespace cffs::replay {
namespace {

bool holds(std::string_view text, std::string_view word) { return text.find(word) != text.npos; }

// "st_size=17" of a printed structure.
std::optional<std::uint64_t> field(std::string_view structure, std::string_view name) {
  const std::size_t at = structure.find(name);
  if (at == structure.npos) return {};
  const std::string_view rest = structure.substr(at + name.size());
  return c_number(rest.substr(0, rest.find_first_of(",}|")));
}

// "S_IFREG|0644", "S_IFDIR|S_ISVTX|0777"
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

std::uint64_t unsigned_of(std::int64_t n) { return static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0)); }

}  // namespace

struct StraceCalls {
  StraceImporter& in;
  const StraceLine& line;

  std::string_view argument(std::size_t i) const { return in.argument(i); }

  // --- names ---
  void open(std::size_t path_index, bool at) {
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
  void creat() {
    Operation o = in.begin(Call::open);
    o.flags = O_WRONLY | O_CREAT | O_TRUNC;
    o.mode = static_cast<std::uint32_t>(c_number(argument(1)));
    const auto path = quoted(argument(0));
    if (path) opened_as(o, in.path_argument(0), descriptor_of(line.result), *path, 0);
  }
  void opened_as(Operation& o, std::optional<PathId> place, const StraceDescriptor& opened,
                 const std::string& path, std::size_t directory_index) {
    auto file = std::make_shared<OpenFile>();
    file->path = opened.path.starts_with('/') ? opened.path
                                              : in.absolute(descriptor_of(argument(directory_index)), path);
    file->appends = (o.flags & O_APPEND) != 0;
    if (in.target_path(o, place)) {
      if (in.result_ >= 0) {
        o.result = 0;
        o.handle = file->handle = in.builder_.new_handle();
      }
      in.emit(o);
    }
    if (in.result_ >= 0) in.files_.put(in.pid_, in.result_, file, (o.flags & O_CLOEXEC) != 0);
  }
  void on_path(Call call, std::optional<PathId> path, std::uint32_t mode = 0, std::uint32_t flags = 0) {
    Operation o = in.begin(call);
    o.mode = mode;
    o.flags = flags;
    if (in.target_path(o, path)) in.emit(o);
  }
  void two_paths(Call call, std::optional<PathId> from, std::optional<PathId> to, std::uint32_t flags = 0) {
    Operation o = in.begin(call);
    o.flags = flags;
    if (!from || !to) {  // half outside: cannot be told apart from what is not there
      ++in.builder_.counts().outside;
      return;
    }
    o.path = *from;
    o.path2 = *to;
    in.emit(o);
  }
  void symlink(std::size_t target_index, std::optional<PathId> path) {
    const auto target = quoted(argument(target_index));
    Operation o = in.begin(Call::symlink);
    if (!target || !in.target_path(o, path)) return;
    o.path2 = in.builder_.trace().intern(*target);
    in.emit(o);
  }
  void stat(Operation& o) {
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
  void stat_path(std::optional<PathId> path, bool follows) {
    Operation o = in.begin(Call::stat);
    o.flags = follows ? 1 : 0;
    if (in.target_path(o, path)) stat(o);
  }
  void stat_file(std::size_t index) {
    Operation o = in.begin(Call::stat);
    if (in.target_file(o, in.file_argument(index, O_RDONLY))) stat(o);
  }
  // fstatat and statx: an empty path means the descriptor.
  void stat_at(std::size_t flags_index) {
    const auto path = quoted(argument(1));
    const StraceDescriptor directory = descriptor_of(argument(0));
    if ((!path || path->empty()) && !directory.working_directory) {
      stat_file(0);
    } else if (path) {
      stat_path(in.path_at(0, 1), !holds(argument(flags_index), "AT_SYMLINK_NOFOLLOW"));
    }
  }

  // --- open files ---
  void on_file(Call call, std::uint64_t length = 0, std::uint32_t mode = 0) {
    Operation o = in.begin(call);
    o.length = length;
    o.mode = mode;
    if (in.target_file(o, in.file_argument(0, call == Call::truncate ? O_WRONLY : O_RDONLY))) in.emit(o);
  }
  void move(std::size_t index, bool writes, std::uint64_t length, std::optional<std::uint64_t> offset) {
    Operation o = in.begin(writes ? Call::write : Call::read);
    const auto file = in.file_argument(index, writes ? O_RDWR : O_RDONLY);
    if (!in.target_file(o, file)) return;
    const std::uint64_t moved = unsigned_of(in.result_);
    if (offset) {
      o.offset = *offset;
    } else {
      if (writes && file->appends) file->offset = in.builder_.size_of(file->handle);
      o.offset = file->offset;
      file->offset += moved;
    }
    o.length = std::max(length, moved);
    in.emit(o);
  }
  void seek() {
    const auto file = in.file_argument(0, O_RDONLY);
    if (!file) return;
    if (in.result_ >= 0) file->offset = unsigned_of(in.result_);
    if (in.result_ == 0) file->listed = false;
    ++in.counts_.passed_over;
  }
  void list() {
    Operation o = in.begin(Call::readdir);
    const auto file = in.file_argument(0, O_RDONLY | O_DIRECTORY);
    if (!in.target_file(o, file) || file->listed) return;  // one listing takes several calls
    file->listed = true;
    o.result = std::min<std::int64_t>(o.result, 0);
    in.emit(o);
  }
  void map() {
    const std::string_view protection = argument(2);
    if (!holds(protection, "PROT_READ") && !holds(protection, "PROT_EXEC")) return;
    if (descriptor_of(argument(4)).number < 0 || holds(argument(3), "MAP_ANONYMOUS")) return;
    const bool failed = line.value().value_or(-1) < 0 && !line.result.starts_with("0x");
    const auto file = failed ? nullptr : in.file_argument(4, O_RDONLY);
    Operation o = in.begin(Call::read);
    if (!in.target_file(o, file)) return;
    o.offset = c_number(argument(5));
    o.length = c_number(argument(1));
    const std::uint64_t size = in.builder_.size_of(file->handle);
    o.result = static_cast<std::int64_t>(o.offset < size ? std::min(o.length, size - o.offset) : 0);
    in.emit(o);
  }
  void close() {
    if (in.result_ < 0) return;
    const StraceDescriptor d = descriptor_of(argument(0));
    in.files_.close(in.pid_, d.number, d.number);
  }
  void close_range() {
    if (in.result_ < 0) return;
    const auto last =
        std::min<std::uint64_t>(c_number(argument(1)), std::numeric_limits<std::int32_t>::max());
    const auto first = static_cast<std::int64_t>(c_number(argument(0)));
    if (holds(argument(2), "CLOSE_RANGE_CLOEXEC")) {
      for (std::int64_t n = first;
           n <= std::min<std::int64_t>(static_cast<std::int64_t>(last), first + 65536); ++n)
        in.files_.set_close_on_exec(in.pid_, n, true);
    } else {
      in.files_.close(in.pid_, first, static_cast<std::int64_t>(last));
    }
  }
  void duplicate(bool close_on_exec) {
    if (in.result_ < 0) return;
    auto file = in.file_argument(0, O_RDWR);
    if (!file) file = std::make_shared<OpenFile>();
    if (descriptor_of(argument(0)).number != in.result_)
      in.files_.put(in.pid_, in.result_, std::move(file), close_on_exec);
  }
  void control() {
    const std::string_view what = argument(1);
    if (what.starts_with("F_DUPFD")) {
      duplicate(what == "F_DUPFD_CLOEXEC");
    } else if (what == "F_SETFD") {
      in.files_.set_close_on_exec(in.pid_, descriptor_of(argument(0)).number,
                                  holds(argument(2), "FD_CLOEXEC"));
    } else if (what == "F_SETFL") {
      if (const auto file = in.file_argument(0, O_RDWR)) file->appends = holds(argument(2), "O_APPEND");
    }
  }
  void allocate() {  // grows the file as truncate would
    if (in.result_ < 0 || argument(1) != "0") return;
    const auto file = in.file_argument(0, O_WRONLY);
    Operation o = in.begin(Call::truncate);
    if (!in.target_file(o, file)) return;
    o.length = c_number(argument(2)) + c_number(argument(3));
    if (o.length > in.builder_.size_of(file->handle)) in.emit(o);
  }
  std::optional<std::uint64_t> pointed(std::size_t index) const {  // "[4096]", "[0] => [4096]"
    const std::string_view text = argument(index);
    if (!text.starts_with('[')) return {};
    return c_number(text.substr(1, text.find(']') - 1));
  }
  void copy(std::size_t from, std::size_t from_offset, std::size_t to, std::size_t to_offset) {
    if (in.result_ < 0) return;
    const auto n = unsigned_of(in.result_);
    move(from, false, n, pointed(from_offset));
    move(to, true, n, to_offset == 0 ? std::nullopt : pointed(to_offset));
  }

  // --- processes ---
  void spawn() {
    if (in.result_ <= 0) return;
    const auto child = static_cast<std::uint64_t>(in.result_);
    if (in.processes_.contains(child) && in.processes_[child].known) return;  // its first line came before
    bool shares = false, shares_directory = false;
    for (const std::string_view word : line.arguments) {
      shares = shares || holds(word, "CLONE_FILES");
      shares_directory = shares_directory || holds(word, "CLONE_FS");
    }
    in.files_.fork(in.pid_, child, shares);
    const auto directory = in.process(in.pid_).directory;
    auto& made = in.processes_[child];
    made = {};
    made.known = true;
    made.directory = shares_directory ? directory : std::make_shared<std::string>(*directory);
    Operation o = in.begin(Call::spawn);
    o.handle = in.builder_.trace().client(std::to_string(child));
    o.result = 0;
    in.emit(o);
  }
  void reap(std::uint64_t child) {
    if (child == 0) return;
    Operation o = in.begin(Call::reap);
    o.handle = in.builder_.trace().client(std::to_string(child));
    o.result = 0;
    in.emit(o);
  }
  void execute(std::size_t path_index, bool at) {
    on_path(Call::fetch, at ? in.path_at(0, path_index) : in.path_argument(path_index));
    if (in.result_ >= 0) in.files_.exec(in.pid_);
  }
  void change_directory(const std::string& to) {
    if (in.result_ >= 0) *in.process(in.pid_).directory = in.latest_directory_ = normalised_path(to);
    ++in.counts_.passed_over;
  }

  bool names(std::string_view n);
  bool attributes(std::string_view n);
  bool data(std::string_view n);
  bool processes(std::string_view n);
};

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
    two_paths(Call::rename, in.path_argument(0), in.path_argument(1));
  } else if (n == "renameat" || n == "renameat2") {
    const std::uint32_t flags = (holds(argument(4), "RENAME_NOREPLACE") ? 1u : 0u) |
                                (holds(argument(4), "RENAME_EXCHANGE") ? 2u : 0u);
    two_paths(Call::rename, in.path_at(0, 1), in.path_at(2, 3), flags);
  } else if (n == "link") {
    two_paths(Call::link, in.path_argument(0), in.path_argument(1));
  } else if (n == "linkat") {
    two_paths(Call::link, in.path_at(0, 1), in.path_at(2, 3));
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

bool StraceCalls::data(std::string_view n) {
  const auto number = [&](std::size_t i) { return c_number(argument(i)); };
  if (n == "read" || n == "write") {
    move(0, n == "write", number(2), {});
  } else if (n == "readv" || n == "writev") {
    move(0, n == "writev", 0, {});
  } else if (n == "pread64" || n == "pwrite64") {
    move(0, n == "pwrite64", number(2), number(3));
  } else if (n.starts_with("preadv") || n.starts_with("pwritev")) {
    move(0, n.starts_with("pwritev"), 0, number(3));
  } else if (n == "sendfile") {
    copy(1, 2, 0, 0);
  } else if (n == "copy_file_range") {
    copy(0, 1, 2, 3);
  } else if (n == "lseek" || n == "_llseek") {
    seek();
  } else if (n == "mmap") {
    map();
  } else if (n == "truncate") {
    Operation o = in.begin(Call::truncate);
    o.length = number(1);
    if (in.target_path(o, in.path_argument(0))) in.emit(o);
  } else if (n == "ftruncate") {
    on_file(Call::truncate, number(1));
  } else if (n == "fallocate") {
    allocate();
  } else if (n == "fsync") {
    on_file(Call::fsync);
  } else if (n == "fdatasync") {
    on_file(Call::fdatasync);
  } else if (n == "sync" || n == "syncfs") {
    in.emit(in.begin(Call::sync));
  } else if (n == "close") {
    close();
  } else if (n == "close_range") {
    close_range();
  } else if (n == "dup" || n == "dup2") {
    duplicate(false);
  } else if (n == "dup3") {
    duplicate(holds(argument(2), "O_CLOEXEC"));
  } else if (n == "fcntl" || n == "fcntl64") {
    control();
  } else {
    return false;
  }
  return true;
}

bool StraceCalls::processes(std::string_view n) {
  if (n == "clone" || n == "clone3" || n == "fork" || n == "vfork") {
    spawn();
  } else if (n == "wait4" || n == "waitpid") {
    if (in.result_ > 0) reap(static_cast<std::uint64_t>(in.result_));
  } else if (n == "waitid") {
    if (const auto child = in.result_ == 0 ? field(argument(2), "si_pid=") : std::nullopt) reap(*child);
  } else if (n == "execve") {
    execute(0, false);
  } else if (n == "execveat") {
    execute(1, true);
  } else if (n == "chdir") {
    StraceDescriptor here;
    here.working_directory = true;
    if (const auto path = quoted(argument(0))) change_directory(in.absolute(here, *path));
  } else if (n == "fchdir") {
    const auto file = in.file_argument(0, O_RDONLY | O_DIRECTORY);
    if (file) change_directory(file->path);
  } else {
    return false;
  }
  return true;
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
