#include "tests/mount/directory_surface.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace cffs::test {
namespace {

int outcome(int result) { return result == 0 ? 0 : errno; }

int write_all(int fd, std::uint64_t offset, const std::string& data) {
  const ssize_t n = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
  if (n < 0) return errno;
  return static_cast<std::size_t>(n) == data.size() ? 0 : EIO;
}

}  // namespace

int DirectorySurface::create(const std::string& path, mode_t mode) {
  const int fd = ::open(at(path).c_str(), O_WRONLY | O_CREAT | O_EXCL, mode);
  if (fd < 0) return errno;
  return outcome(::close(fd));
}
int DirectorySurface::mkdir(const std::string& path, mode_t mode) {
  return outcome(::mkdir(at(path).c_str(), mode));
}
int DirectorySurface::unlink(const std::string& path) { return outcome(::unlink(at(path).c_str())); }
int DirectorySurface::rmdir(const std::string& path) { return outcome(::rmdir(at(path).c_str())); }
int DirectorySurface::symlink(const std::string& target, const std::string& path) {
  return outcome(::symlink(target.c_str(), at(path).c_str()));
}
int DirectorySurface::link(const std::string& from, const std::string& to) {
  return outcome(::link(at(from).c_str(), at(to).c_str()));
}
int DirectorySurface::rename(const std::string& from, const std::string& to, unsigned flags) {
  return outcome(::renameat2(AT_FDCWD, at(from).c_str(), AT_FDCWD, at(to).c_str(), flags));
}

int DirectorySurface::write(const std::string& path, std::uint64_t offset, const std::string& data) {
  const int fd = ::open(at(path).c_str(), O_WRONLY | O_NOFOLLOW);
  if (fd < 0) return errno;
  const int result = write_all(fd, offset, data);
  ::close(fd);
  return result;
}

int DirectorySurface::truncate(const std::string& path, std::uint64_t size) {
  const int fd = ::open(at(path).c_str(), O_WRONLY | O_NOFOLLOW);
  if (fd < 0) return errno;
  const int result = outcome(::ftruncate(fd, static_cast<off_t>(size)));
  ::close(fd);
  return result;
}

int DirectorySurface::allocate(const std::string& path, int flags, std::uint64_t offset,
                               std::uint64_t length) {
  const int fd = ::open(at(path).c_str(), O_WRONLY | O_NOFOLLOW);
  if (fd < 0) return errno;
  const int result = outcome(::fallocate(fd, flags, static_cast<off_t>(offset), static_cast<off_t>(length)));
  ::close(fd);
  return result;
}

int DirectorySurface::copy(const std::string& from, std::uint64_t from_offset, const std::string& to,
                           std::uint64_t to_offset, std::uint64_t length) {
  std::string probe;
  if (const int e = read(from, 0, 0, probe)) return e;
  const int target = ::open(at(to).c_str(), O_WRONLY | O_NOFOLLOW);
  if (target < 0) return errno;
  const int source = ::open(at(from).c_str(), O_RDONLY | O_NOFOLLOW);
  struct stat a, b;
  int result = source < 0 || ::fstat(source, &a) != 0 || ::fstat(target, &b) != 0 ? errno : 0;
  if (result == 0 && a.st_ino == b.st_ino) result = EINVAL;
  off_t in = static_cast<off_t>(from_offset), out = static_cast<off_t>(to_offset);
  while (result == 0 && length > 0) {
    const ssize_t n = ::copy_file_range(source, &in, target, &out, length, 0);
    if (n < 0) result = errno;
    if (n <= 0) break;
    length -= static_cast<std::uint64_t>(n);
  }
  ::close(source);
  ::close(target);
  return result;
}

int DirectorySurface::make_unnamed(const std::string& path, mode_t mode, const std::string& data) {
  const std::string full = at(path);
  const std::string directory = full.substr(0, full.rfind('/'));
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_WRONLY, mode);
  if (fd < 0) return errno;
  int result = ::fchmod(fd, mode) != 0 ? errno : write_all(fd, 0, data);
  if (result == 0) result = outcome(::linkat(fd, "", AT_FDCWD, full.c_str(), AT_EMPTY_PATH));
  ::close(fd);
  return result;
}

int DirectorySurface::chmod(const std::string& path, mode_t mode) {
  struct stat st;
  if (::lstat(at(path).c_str(), &st) != 0) return errno;
  if (S_ISLNK(st.st_mode)) return ELOOP;
  return outcome(::chmod(at(path).c_str(), mode));
}

int DirectorySurface::set_mtime(const std::string& path, std::int64_t ns) {
  const timespec times[2] = {{0, UTIME_OMIT}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  return outcome(::utimensat(AT_FDCWD, at(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
}

int DirectorySurface::setxattr(const std::string& path, const std::string& name, const std::string& value) {
  struct stat st;
  if (::lstat(at(path).c_str(), &st) != 0) return errno;
  if (S_ISLNK(st.st_mode)) return ELOOP;
  return outcome(::lsetxattr(at(path).c_str(), name.c_str(), value.data(), value.size(), 0));
}

int DirectorySurface::removexattr(const std::string& path, const std::string& name) {
  struct stat st;
  if (::lstat(at(path).c_str(), &st) != 0) return errno;
  if (S_ISLNK(st.st_mode)) return ELOOP;
  return outcome(::lremovexattr(at(path).c_str(), name.c_str()));
}

int DirectorySurface::read(const std::string& path, std::uint64_t offset, std::size_t n, std::string& out) {
  struct stat st;
  if (::lstat(at(path).c_str(), &st) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return EISDIR;
  const int fd = ::open(at(path).c_str(), O_RDONLY | O_NOFOLLOW);
  if (fd < 0) return errno;
  out.resize(n);
  const ssize_t got = ::pread(fd, out.data(), n, static_cast<off_t>(offset));
  const int result = got < 0 ? errno : 0;
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  ::close(fd);
  return result;
}

int DirectorySurface::hold(const std::string& path, int& handle) {
  struct stat st;
  if (::lstat(at(path).c_str(), &st) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return EISDIR;
  handle = ::open(at(path).c_str(), O_RDWR | O_NOFOLLOW);
  const int result = handle < 0 ? errno : 0;
  if (handle < 0) handle = 0;
  return result;
}

int DirectorySurface::write_held(int handle, std::uint64_t offset, const std::string& data) {
  return write_all(handle, offset, data);
}
int DirectorySurface::truncate_held(int handle, std::uint64_t size) {
  return outcome(::ftruncate(handle, static_cast<off_t>(size)));
}
int DirectorySurface::read_held(int handle, std::string& all) {
  struct stat st;
  if (::fstat(handle, &st) != 0) return errno;
  all.resize(static_cast<std::size_t>(st.st_size) + 10);
  const ssize_t n = ::pread(handle, all.data(), all.size(), 0);
  all.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return n < 0 ? errno : 0;
}
void DirectorySurface::drop(int handle) { ::close(handle); }

void DirectorySurface::walk(const std::string& path, Tree& tree) {
  struct stat st;
  const std::string full = at(path);
  if (::lstat(full.c_str(), &st) != 0) throw std::runtime_error("lstat " + full);
  Visible& v = tree[path];
  v.mode = st.st_mode;
  v.nlink = st.st_nlink;
  v.size = S_ISDIR(st.st_mode) ? 0 : static_cast<std::uint64_t>(st.st_size);
  v.mtime_ns = st.st_mtim.tv_sec * 1'000'000'000 + st.st_mtim.tv_nsec;
  char names[4096];
  const ssize_t n = ::llistxattr(full.c_str(), names, sizeof names);
  for (ssize_t i = 0; i < n;) {
    const std::string name = names + i;
    i += static_cast<ssize_t>(name.size()) + 1;
    if (!name.starts_with("user.")) continue;
    char value[4096];
    const ssize_t size = ::lgetxattr(full.c_str(), name.c_str(), value, sizeof value);
    if (size < 0) throw std::runtime_error("lgetxattr " + full);
    v.xattrs[name] = std::string(value, static_cast<std::size_t>(size));
  }
  if (S_ISLNK(st.st_mode)) {
    char target[4096];
    const ssize_t length = ::readlink(full.c_str(), target, sizeof target);
    v.content.assign(target, static_cast<std::size_t>(length));
  } else if (S_ISREG(st.st_mode)) {
    if (const int e = read(path, 0, v.size + 1, v.content); e != 0) throw std::runtime_error("read " + full);
  } else if (S_ISDIR(st.st_mode)) {
    DIR* dir = ::opendir(full.c_str());
    if (dir == nullptr) throw std::runtime_error("opendir " + full);
    std::vector<std::string> children;
    while (const dirent* d = ::readdir(dir)) {
      const std::string name = d->d_name;
      if (name != "." && name != ".." && name != "lost+found") children.push_back(name);
    }
    ::closedir(dir);
    for (const std::string& child : children) walk(path.empty() ? child : path + "/" + child, tree);
  }
}

Tree DirectorySurface::tree() {
  Tree tree;
  walk("", tree);
  return tree;
}

}  // namespace cffs::test
