#include "core/transfer/whole_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cffs {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// Its names are durable on return. What may not be listed cannot be synced by whoever may write into it all the same.
Status sync_folder(const std::string& folder) {
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == EACCES) return {};
  if (!fd || (::fsync(fd.get()) != 0 && errno != EINVAL)) return fail(errno, folder);
  return {};
}

mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

Result<WholeFile> WholeFile::create(const std::string& path) {
  WholeFile file;
  std::array<char, PATH_MAX> resolved{};
  file.path_ = ::realpath(path.c_str(), resolved.data()) != nullptr ? resolved.data() : path;
  struct stat there {};
  const bool is_there = ::stat(file.path_.c_str(), &there) == 0;
  if (is_there && !S_ISREG(there.st_mode)) {
    file.in_place_ = true;
    file.fd_ = FileDescriptor(::open(file.path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.fd_) return fail(errno, path);
    return file;
  }
  const mode_t mode = is_there ? there.st_mode & 07777 : usual_mode();
  file.fd_ = FileDescriptor(::open(folder_of(file.path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (!file.fd_) {
    std::string name = file.path_ + ".XXXXXX.partial";
    file.fd_ = FileDescriptor(::mkostemps(name.data(), 8, O_CLOEXEC));
    if (!file.fd_) return fail(errno, path);
    file.partial_ = name;
  }
  if (::fchmod(file.fd_.get(), mode) != 0) return fail(errno, path);
  return file;
}

WholeFile::~WholeFile() {
  if (!partial_.empty() && fd_) ::unlink(partial_.c_str());
}

Status WholeFile::finish() {
  if (in_place_) {
    // What a device could not write nobody would be told of. A pipe knows of no such thing.
    const bool synced = ::fsync(fd_.get()) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
    return synced ? Status() : Status(fail(errno, path_));
  }
  if (::fsync(fd_.get()) != 0) return fail(errno, path_);
  if (partial_.empty()) {
    // A file without a name gets one only where there is none yet.
    const std::string self = proc_path_of(fd_.get());
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      fd_.reset();
      return sync_folder(folder_of(path_));
    }
    if (errno != EEXIST) return fail(errno, path_);
    std::string name = path_ + ".XXXXXX.partial";
    FileDescriptor reserved(::mkostemps(name.data(), 8, O_CLOEXEC));
    if (!reserved || ::unlink(name.c_str()) != 0) return fail(errno, path_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return fail(errno, path_);
    partial_ = name;
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) return fail(errno, path_);
  fd_.reset();
  return sync_folder(folder_of(path_));
}

}  // namespace cffs
