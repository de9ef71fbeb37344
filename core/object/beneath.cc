#include "core/object/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace cffs {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kFolderMode = 0700;

// C libraries do not wrap it yet.
FileDescriptor open_with_openat2(int directory, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  if ((flags & O_CREAT) != 0) how.mode = kFileMode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return FileDescriptor(static_cast<int>(::syscall(SYS_openat2, directory, name, &how, sizeof how)));
}

bool openat2_works(int directory) {
  return static_cast<bool>(open_with_openat2(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// The folders on the way: never a symbolic link, which O_DIRECTORY with O_NOFOLLOW refuses with ENOTDIR.
FileDescriptor open_folder_step(int directory, const std::string& part) {
  FileDescriptor fd(::openat(directory, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat st;
  if (!fd && errno == ENOTDIR) {
    const bool link =
        ::fstatat(directory, part.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
    errno = link ? ELOOP : ENOTDIR;
  }
  return fd;
}

}  // namespace

FileDescriptor open_by_components(int directory, const std::string& name, int flags) {
  FileDescriptor folder;
  std::string_view rest = name;
  if (rest.starts_with('/')) {
    errno = EXDEV;
    return {};
  }
  for (;;) {
    const std::size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    if (part == "..") {
      errno = EXDEV;
      return {};
    }
    const int at = folder ? folder.get() : directory;
    if (slash == std::string_view::npos) {
      return FileDescriptor(::openat(at, part.c_str(), flags | O_NOFOLLOW, kFileMode));
    }
    FileDescriptor next = open_folder_step(at, part);
    if (!next) return next;
    folder = std::move(next);
    rest.remove_prefix(slash + 1);
  }
}

Beneath::Beneath(int directory) : directory_(directory), has_openat2_(openat2_works(directory)) {}

FileDescriptor Beneath::open(const std::string& name, int flags) const {
  if ((flags & O_PATH) == 0) flags |= O_NONBLOCK;  // beside O_PATH openat2 refuses it
  return has_openat2_ ? open_with_openat2(directory_, name.c_str(), flags)
                      : open_by_components(directory_, name, flags);
}

// A name as its folder's descriptor and its last component.
class Beneath::Place {
 public:
  Place(const Beneath& beneath, const std::string& name) : last_(name) {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) {
      at_ = beneath.directory_;
      return;
    }
    last_ = name.substr(slash + 1);
    folder_ = beneath.open(name.substr(0, slash), O_PATH | O_DIRECTORY | O_CLOEXEC);
    at_ = folder_.get();
  }
  explicit operator bool() const { return at_ >= 0; }
  int at() const { return at_; }
  const char* last() const { return last_.c_str(); }

 private:
  FileDescriptor folder_;
  int at_ = -1;
  std::string last_;
};

bool Beneath::unlink(const std::string& name) const {
  const Place place(*this, name);
  return place && ::unlinkat(place.at(), place.last(), 0) == 0;
}

bool Beneath::rename(const std::string& from, const std::string& to) const {
  const Place source(*this, from);
  if (!source) return false;
  const Place target(*this, to);
  return target && ::renameat(source.at(), source.last(), target.at(), target.last()) == 0;
}

bool Beneath::make_folder(const std::string& name) const {
  const Place place(*this, name);
  return place && ::mkdirat(place.at(), place.last(), kFolderMode) == 0;
}

bool Beneath::exists(const std::string& name) const {
  const Place place(*this, name);
  return place && ::faccessat(place.at(), place.last(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace cffs
