#include "core/base/readable_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace cffs {

std::optional<std::string> readable_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  std::array<char, 65536> buffer;
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  return text;
}

}  // namespace cffs
