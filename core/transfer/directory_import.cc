#include "core/transfer/directory_import.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <memory>

#include "core/object/file_descriptor.h"

namespace cffs {
namespace {

constexpr std::size_t kCopyBytes = 1u << 20;

Inode inode_of(const struct stat& st) {
  Inode inode;
  inode.mode = st.st_mode;
  inode.uid = st.st_uid;
  inode.gid = st.st_gid;
  inode.rdev = st.st_rdev;
  inode.size = S_ISREG(st.st_mode) ? static_cast<std::uint64_t>(st.st_size) : 0;
  inode.atime_ns = to_ns(st.st_atim);
  inode.mtime_ns = to_ns(st.st_mtim);
  inode.ctime_ns = inode.btime_ns = to_ns(st.st_ctim);
  return inode;
}

// Reads all attributes of a path (not following links) or an open file. A source without them has none.
template <typename List, typename Get>
Xattrs read_xattrs(List list, Get get) {
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
  for (std::size_t at = 0; at < names.size();) {
    const std::string name = names.c_str() + at;
    at += name.size() + 1;
    std::string value(64 * 1024, '\0');
    const ssize_t size = get(name.c_str(), value.data(), value.size());
    if (size < 0) continue;
    value.resize(static_cast<std::size_t>(size));
    found.emplace_back(name, std::move(value));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Xattrs xattrs_of_path(const std::string& path) {
  return read_xattrs(
      [&](char* b, std::size_t n) { return ::llistxattr(path.c_str(), b, n); },
      [&](const char* name, char* b, std::size_t n) { return ::lgetxattr(path.c_str(), name, b, n); });
}

Xattrs xattrs_of_file(int fd) {
  return read_xattrs([fd](char* b, std::size_t n) { return ::flistxattr(fd, b, n); },
                     [fd](const char* name, char* b, std::size_t n) { return ::fgetxattr(fd, name, b, n); });
}

Result<FileDescriptor> open_source(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOATIME));
  if (!fd && errno == EPERM) fd = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail(errno, path);
  return fd;
}

Result<std::string> read_small(const std::string& path, Inode& attributes) {
  CFFS_TRY(const FileDescriptor fd, open_source(path));
  std::string content(attributes.size + 1, '\0');
  std::size_t done = 0;
  for (;;) {
    const ssize_t n =
        ::pread(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, path);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    if (done == content.size()) content.resize(content.size() * 2);  // it grew since it was listed
  }
  content.resize(done);
  attributes.xattrs = xattrs_of_file(fd.get());
  return content;
}

Status copy_large(const std::string& path, const ImportTarget::WriteAt& write) {
  CFFS_TRY(const FileDescriptor fd, open_source(path));
  std::string buffer(kCopyBytes, '\0');
  off_t at = 0;
  for (;;) {
    // From data to data: holes stay holes.
    const off_t data = ::lseek(fd.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return {};
    if (data >= 0) at = data;
    const off_t hole = ::lseek(fd.get(), at, SEEK_HOLE);
    const auto room = hole > at ? static_cast<std::size_t>(hole - at) : buffer.size();
    const ssize_t n = ::pread(fd.get(), buffer.data(), std::min(buffer.size(), room), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, path);
    if (n == 0) return {};
    CFFS_TRY_VOID(write(static_cast<std::uint64_t>(at), {buffer.data(), static_cast<std::size_t>(n)}));
    at += n;
  }
}

class Walk {
 public:
  explicit Walk(ImportTarget& target) : target_(target) {}

  // Files first, then subdirectories: a directory's members lie together, next to those of its neighbours.
  Status directory(const std::string& path, InodeId ino) {
    struct Found {
      std::string name;
      std::uint64_t order;
      struct stat st;
    };
    std::vector<Found> found;
    {
      const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
      if (!dir) return fail(errno, path);
      for (;;) {
        errno = 0;
        const dirent* entry = ::readdir(dir.get());
        // What could be listed is taken, and what could not is told.
        if (entry == nullptr && errno != 0) target_.failed(Error::os(errno, path).message());
        if (entry == nullptr) break;
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        Found f{name, target_.name_hash()(name), {}};
        if (::fstatat(::dirfd(dir.get()), entry->d_name, &f.st, AT_SYMLINK_NOFOLLOW) != 0) {
          target_.failed(Error::os(errno, path + "/" + name).message());
          continue;
        }
        found.push_back(std::move(f));
      }
    }
    // The order in which the store will list them.
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.order < b.order; });
    for (const Found& f : found) {
      if (!S_ISDIR(f.st.st_mode)) file(path + "/" + f.name, f.name, ino, f.st);
    }
    for (const Found& f : found) {
      if (!S_ISDIR(f.st.st_mode)) continue;
      const std::string below = path + "/" + f.name;
      Inode attributes = inode_of(f.st);
      attributes.xattrs = xattrs_of_path(below);
      const auto made = target_.directory(ino, f.name, attributes);
      if (!made) {
        target_.failed(below + ": " + made.error().message());
        continue;
      }
      if (const Status done = directory(below, *made); !done) target_.failed(done.error().message());
    }
    return {};
  }

 private:
  void file(const std::string& path, const std::string& name, InodeId parent, const struct stat& st) {
    Inode attributes = inode_of(st);
    if (st.st_nlink > 1) {
      const auto [it, first] = first_names_.try_emplace({st.st_dev, st.st_ino}, parent, name);
      if (!first) return target_.hard_link(parent, name, it->second.first, it->second.second);
    }
    if (S_ISREG(st.st_mode)) {
      if (attributes.size <= target_.small_limit()) {
        target_.small_file(parent, name, attributes, [path](Inode& a) { return read_small(path, a); });
      } else {
        attributes.xattrs = xattrs_of_path(path);
        target_.large_file(parent, name, attributes,
                           [path](const ImportTarget::WriteAt& write) { return copy_large(path, write); });
      }
      return;
    }
    attributes.xattrs = xattrs_of_path(path);
    if (!S_ISLNK(st.st_mode)) return target_.special(parent, name, attributes);
    std::string link(4096, '\0');
    const ssize_t n = ::readlink(path.c_str(), link.data(), link.size());
    if (n < 0) return target_.failed(Error::os(errno, path).message());
    attributes.target.assign(link.data(), static_cast<std::size_t>(n));
    target_.symlink(parent, name, attributes);
  }

  ImportTarget& target_;
  std::map<std::pair<dev_t, ino_t>, std::pair<InodeId, std::string>> first_names_;
};

}  // namespace

Status import_directory(const std::string& source, ImportTarget& target) {
  struct stat st;
  if (::stat(source.c_str(), &st) != 0) return fail(errno, source);
  Inode attributes = inode_of(st);
  attributes.xattrs = xattrs_of_path(source);
  target.directory_attributes(kRootInode, attributes);
  return Walk(target).directory(source, kRootInode);
}

}  // namespace cffs
