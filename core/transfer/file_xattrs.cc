#include "core/transfer/file_xattrs.h"

#include <sys/types.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

namespace cffs {
namespace {

// Gone meanwhile, there where /proc is, or not to be seen: no fault of the medium, nor a want of anything.
bool is_none(int reason) {
  return reason == EOPNOTSUPP || reason == ENOSYS || reason == ENODATA || reason == ENOENT ||
         reason == EACCES || reason == EPERM;
}

// Reads all attributes of a path (not following links) or an open file. A source without them has none.
template <typename List, typename Get>
Result<Xattrs> read_xattrs(List list, Get get) {
  Xattrs found;
  char few[1024];
  std::string names;
  ssize_t n = list(few, sizeof few);
  if (n > 0) names.assign(few, static_cast<std::size_t>(n));
  if (n < 0 && errno == ERANGE) {
    names.resize(64 * 1024);
    n = list(names.data(), names.size());
    names.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  }
  if (n < 0 && !is_none(errno)) return fail(errno);
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    std::string value(64 * 1024, '\0');
    const ssize_t size = get(name.c_str(), value.data(), value.size());
    if (size < 0 && !is_none(errno)) return fail(errno);
    if (size < 0) continue;
    value.resize(static_cast<std::size_t>(size));
    found.emplace_back(name, std::move(value));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<Xattrs> xattrs_of_path(const std::string& path) {
  return read_xattrs(
      [&](char* b, std::size_t n) { return ::llistxattr(path.c_str(), b, n); },
      [&](const char* name, char* b, std::size_t n) { return ::lgetxattr(path.c_str(), name, b, n); });
}

Result<Xattrs> xattrs_of_file(int fd) {
  return read_xattrs([fd](char* b, std::size_t n) { return ::flistxattr(fd, b, n); },
                     [fd](const char* name, char* b, std::size_t n) { return ::fgetxattr(fd, name, b, n); });
}

}  // namespace cffs
