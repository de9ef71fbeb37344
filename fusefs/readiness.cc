#include "fusefs/readiness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "fusefs/mount_point.h"

namespace cffs {

void Readiness::report(const std::string& problem) {
  if (!fd_) return;
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  (void)::dup2(null.get(), STDERR_FILENO);
  const std::string message = problem.empty() ? "ok" : "!" + problem;
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
  if (message.starts_with("!")) return fail(Error::usage(message.substr(1)));
  if (message != "ok") return fail(Error::usage("the daemon ended before the mount was ready"));
  raise_readahead(mount_point);
  struct stat st;
  if (::stat(mount_point.c_str(), &st) != 0) return fail(errno, mount_point);
  return {};
}

}  // namespace cffs
