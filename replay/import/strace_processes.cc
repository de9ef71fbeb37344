// Calls on processes: made, waited for, running another program, changing their directory.
#include <fcntl.h>

#include <memory>
#include <string>
#include <utility>

#include "replay/import/strace_calls.h"

namespace cffs::replay {

void StraceCalls::spawn() {
  if (in.result_ <= 0) return;
  const auto child = static_cast<std::uint64_t>(in.result_);
  // Its first line came before, and maybe its last one.
  if (std::exchange(in.process(in.pid_).child, 0) == child) return;
  if (in.processes_.contains(child) && in.processes_[child].known) return;
  bool shares = false, shares_directory = false;
  for (const std::string_view word : line.arguments) {
    shares = shares || holds(word, "CLONE_FILES");
    shares_directory = shares_directory || holds(word, "CLONE_FS");
  }
  in.files_.fork(in.pid_, child, shares);
  const auto directory = in.process(in.pid_).directory;
  auto& made = in.processes_[child];
  made = {};
  made.known = made.announced = true;
  made.began = in.counts_.lines;
  made.directory = shares_directory ? directory : std::make_shared<std::string>(*directory);
  Operation o = in.begin(Call::spawn);
  o.handle = in.builder_.trace().client(std::to_string(child));
  o.result = 0;
  in.emit(o);
}

void StraceCalls::reap(std::uint64_t child) {
  if (child == 0) return;
  Operation o = in.begin(Call::reap);
  o.handle = in.builder_.trace().client(std::to_string(child));
  o.result = 0;
  in.emit(o);
}

void StraceCalls::execute(std::size_t path_index, bool at) {
  on_path(Call::fetch, at ? in.path_at(0, path_index) : in.path_argument(path_index));
  if (in.result_ < 0) return;
  in.files_.exec(in.pid_);
  in.process(in.pid_).began = in.counts_.lines;  // what others open from here on is theirs
}

void StraceCalls::change_directory(const std::string& to) {
  if (in.result_ >= 0) *in.process(in.pid_).directory = in.latest_directory_ = normalised_path(to);
  ++in.counts_.passed_over;
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

}  // namespace cffs::replay
