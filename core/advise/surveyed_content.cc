#include "core/advise/surveyed_content.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include <cerrno>

namespace cffs {

FileDescriptor SurveyedContent::open(const std::string& path, int flags) const {
  const std::string name = path.empty() ? "." : path;
  const auto try_with = [&](int more) {
    return name.size() < PATH_MAX - 1 ? beneath_.open(name, flags | more)
                                      : open_by_components(root_, name, flags | more | O_NONBLOCK);
  };
  FileDescriptor fd = try_with(O_NOATIME);
  if (!fd && errno == EPERM) fd = try_with(0);  // somebody else's file
  return fd;
}

std::optional<std::string> SurveyedContent::read(const std::string& path, std::uint64_t offset,
                                                 std::uint64_t bytes) const {
  const FileDescriptor fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  struct stat st;
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return {};
  std::string content(bytes, '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t n =
        ::pread(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {};
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  content.resize(done);
  return content;
}

}  // namespace cffs
