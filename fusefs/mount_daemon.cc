#include "fusefs/mount_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/base/readable_text.h"
#include "fusefs/mount_holders.h"
#include "fusefs/operations.h"
#include "fusefs/process_list.h"
#include "fusefs/store_owner.h"

namespace cffs {
namespace {

// What the kernel says of the FUSE connections that a process serves.
struct Serving {
  bool any = false;     // it has /dev/fuse open
  bool told = false;    // which connection that is
  bool wanted = false;  // it is the one in question
};

Serving serving_of(pid_t process, unsigned long connection) {
  constexpr std::string_view kField = "fuse_connection:";
  Serving serving;
  for (const std::string& fd : names_in(of_process(process, "fd"))) {
    if (target_of(of_process(process, "fd/" + fd)) != "/dev/fuse") continue;
    serving.any = true;
    const std::string text = readable_text(of_process(process, "fdinfo/" + fd)).value_or("");
    const std::size_t at = text.find(kField);
    if (at == std::string::npos) continue;
    serving.told = true;
    if (std::strtoul(text.c_str() + at + kField.size(), nullptr, 10) == connection) serving.wanted = true;
  }
  return serving;
}

// What it says of itself; 0: it says nothing.
pid_t ask(const std::string& mount_point) {
  std::array<char, 32> text{};
  const ssize_t n = ::getxattr(mount_point.c_str(), kDaemonXattr, text.data(), text.size());
  pid_t process = 0;
  if (n > 0) (void)std::from_chars(text.data(), text.data() + n, process);
  return process;
}

pid_t answer_of(const std::string& mount_point, const Waiting& wait) {
  constexpr int kMostTries = 400;
  constexpr std::chrono::milliseconds kTry{5};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return 0;
  const FileDescriptor answer(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t process = ask(mount_point);
    ::_exit(::write(to_parent.get(), &process, sizeof process) == sizeof process ? 0 : 1);
  }
  to_parent.reset();
  if (child < 0) return 0;
  pid_t process = 0;
  for (int i = 0; i < kMostTries; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) {
      return ::read(answer.get(), &process, sizeof process) == sizeof process ? process : 0;
    }
    if (!wait(kTry)) break;
  }
  (void)::kill(child, SIGKILL);
  return 0;
}

}  // namespace

pid_t daemon_of(const MountEntry& mount, const Waiting& wait) {
  constexpr int kMostLooks = 20;
  const unsigned long connection = connection_number(mount.device);
  bool told = false;
  std::vector<pid_t> serving;
  for (int look = 0; look == 0 || (serving.size() > 1 && look < kMostLooks); ++look) {
    if (look > 0 && !wait(std::chrono::milliseconds(5))) break;
    serving.clear();
    for (const pid_t process : all_processes()) {
      const Serving found = serving_of(process, connection);
      if (found.wanted && !mount_is_over(process).value_or(false)) serving.push_back(process);
      told = told || found.told;
    }
  }
  // Several: commands that look at the daemon have its descriptor for a moment (mount_is_over). Or the kernel gave the number of a connection
  // that is gone, and whose daemon is still ending, to this one, and does not let us see that.
  if (serving.size() == 1) return serving.front();
  if (!serving.empty()) {
    const pid_t process = answer_of(mount.point, wait);
    return std::find(serving.begin(), serving.end(), process) != serving.end() ? process : serving.front();
  }
  if (told) return 0;  // such a kernel tells of all that can be seen
  const pid_t process = answer_of(mount.point, wait);
  // One in another pid namespace has a number there that may be anybody's here.
  return process > 0 && serving_of(process, connection).any ? process : 0;
}

RunningDaemon::RunningDaemon(pid_t process)
    : process_(process),
      handle_(process > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, process, 0)) : -1) {}

bool RunningDaemon::runs() const {
  if (process_ <= 0) return false;
  if (!handle_) return ::kill(process_, 0) == 0 || errno == EPERM;
  pollfd state{handle_.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) == 0;
}

Status RunningDaemon::end() const {
  const auto ask = [this]() -> long {
    return handle_ ? ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGTERM, nullptr, 0U)
                   : ::kill(process_, SIGTERM);
  };
  if (!runs() || ask() == 0 || errno == ESRCH) return {};
  return fail(errno, "the daemon, pid " + std::to_string(process_) + ", cannot be told to end from here");
}

void wait_for_end(const RunningDaemon& daemon, const Waiting& wait) {
  constexpr std::chrono::seconds kMost{10};
  const auto end = std::chrono::steady_clock::now() + kMost;
  while (daemon.runs() && std::chrono::steady_clock::now() < end) {
    if (!wait(std::chrono::milliseconds(5))) return;
  }
}

}  // namespace cffs
