#include "fusefs/readiness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "core/base/thread.h"
#include "fusefs/mount_point.h"
#include "fusefs/service_manager.h"

namespace cffs {

Readiness::~Readiness() {
  if (settling_.joinable()) settling_.join();
}

void Readiness::report(const std::string& problem, int errno_value) {
  if (problem.empty()) succeeded_.store(true);
  if (!fd_) {
    if (!problem.empty() || mount_point_.empty()) return;
    // Who reports serves the mount, so somebody else must look whether it answers.
    const std::string ready = "READY=1\nSTATUS=" + status_;
    auto made = make_thread("the thread that settles the mount", [at = mount_point_, ready] {
      raise_readahead(at);
      struct stat st;
      if (::stat(at.c_str(), &st) == 0) (void)tell_service_manager(ready);
    });
    mount_point_.clear();
    if (made) {
      settling_ = std::move(*made);
    } else {
      (void)tell_service_manager(ready);
    }
    return;
  }
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  (void)::dup2(null.get(), STDERR_FILENO);
  const std::string message = problem.empty() ? "ok" : "!" + std::to_string(errno_value) + " " + problem;
  (void)!::write(fd_.get(), message.data(), message.size());
  fd_.reset();
}

bool Readiness::awaited() const {
  pollfd pipe{fd_.get(), 0, 0};
  return !fd_ || ::poll(&pipe, 1, 0) != 1 || (pipe.revents & POLLERR) == 0;
}

Status wait_until_ready(const FileDescriptor& from_child, const std::string& mount_point) {
  std::string message;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(from_child.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    message.append(buffer.data(), static_cast<std::size_t>(n));
  }
  if (message.starts_with("!")) {
    const std::size_t blank = message.find(' ');
    Error error = Error::usage(message.substr(blank + 1));
    error.errno_value = std::atoi(message.c_str() + 1);
    return fail(std::move(error));
  }
  if (message != "ok") return fail(Error::usage("the daemon ended before the mount was ready"));
  raise_readahead(mount_point);
  struct stat st;
  if (::stat(mount_point.c_str(), &st) != 0) return fail(errno, mount_point);
  return {};
}

}  // namespace cffs
