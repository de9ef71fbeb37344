#include "fusefs/follower_daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/object/file_descriptor.h"
#include "fusefs/operations.h"

namespace cffs {
namespace {

// Of what the daemon says of itself; 0: it says nothing.
pid_t ask(const std::string& mount_point) {
  constexpr const char* kField = "\"pid\": ";
  std::array<char, 256> json{};
  const ssize_t n = ::getxattr(mount_point.c_str(), kFollowXattr, json.data(), json.size() - 1);
  const char* const at = n > 0 ? std::strstr(json.data(), kField) : nullptr;
  return at != nullptr ? static_cast<pid_t>(std::strtol(at + std::strlen(kField), nullptr, 10)) : 0;
}

}  // namespace

pid_t follower_at(const std::string& mount_point, const Waiting& wait) {
  constexpr int kMostTries = 40;
  constexpr std::chrono::milliseconds kTry{50};
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return 0;
  const FileDescriptor answer(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t pid = ask(mount_point);
    ::_exit(::write(to_parent.get(), &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  to_parent.reset();
  if (child < 0) return 0;
  pid_t pid = 0;
  for (int i = 0; i < kMostTries; ++i) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) {
      return ::read(answer.get(), &pid, sizeof pid) == sizeof pid ? pid : 0;
    }
    if (!wait(kTry)) break;
  }
  (void)::kill(child, SIGKILL);
  return 0;
}

void wait_for_end(pid_t daemon, const Waiting& wait) {
  constexpr std::chrono::seconds kMost{10};
  const auto end = std::chrono::steady_clock::now() + kMost;
  while (daemon > 0 && ::kill(daemon, 0) == 0 && std::chrono::steady_clock::now() < end) {
    if (!wait(std::chrono::milliseconds(5))) return;
  }
}

}  // namespace cffs
