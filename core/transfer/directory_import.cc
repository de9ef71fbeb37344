#include "core/transfer/directory_import.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/xattr.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>

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

// Walks by descriptors, from one directory to the next, and without recursion: a tree may be deeper than a path is long.
class Walk {
 public:
  explicit Walk(ImportTarget& target) : target_(target) {}

  Status run(const std::string& source) {
    path_ = source;
    here_ = FileDescriptor(::open(source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat st;
    if (!here_ || ::fstat(here_.get(), &st) != 0) return fail(errno, source);
    Inode attributes = inode_of(st);
    attributes.xattrs = xattrs_of_file(here_.get());
    target_.directory_attributes(kRootInode, attributes);
    enter(kRootInode, st);
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.next < level.directories.size()) {
        descend(level.ino, level.directories[level.next++]);
      } else {
        CFFS_TRY_VOID(ascend());
      }
    }
    return {};
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;
  struct Found {
    std::string name;
    struct stat st;
    std::uint64_t order;  // among directories; 0: a file
    bool is_directory() const { return S_ISDIR(st.st_mode); }
  };
  // A directory between the source and where the walk is.
  struct Level {
    InodeId ino;
    Identity identity;
    std::size_t path_bytes = 0;
    std::vector<Found> directories;
    std::size_t next = 0;
  };

  // Files first, then subdirectories: a directory's members lie together, next to those of its neighbours.
  void enter(InodeId ino, const struct stat& st) {
    levels_.push_back({ino, {st.st_dev, st.st_ino}, path_.size(), {}, 0});
    above_.insert(levels_.back().identity);
    std::vector<Found> found = list();
    // Files by name: who wants some of them mostly wants neighbours. Directories as the store will list them, which is how those
    // who go through all of them come by.
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return std::make_tuple(a.is_directory(), a.order, std::string_view(a.name)) <
             std::make_tuple(b.is_directory(), b.order, std::string_view(b.name));
    });
    for (Found& f : found) {
      if (f.is_directory()) {
        levels_.back().directories.push_back(std::move(f));
      } else {
        file(f.name, ino, f.st);
      }
    }
    target_.files_complete(ino);
  }

  std::vector<Found> list() {
    std::vector<Found> found;
    FileDescriptor again(::openat(here_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(again ? ::fdopendir(again.get()) : nullptr, ::closedir);
    if (!dir) {
      target_.failed(Error::os(errno, path_).message());
      return found;
    }
    (void)again.release();
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(dir.get());
      // What could be listed is taken, and what could not is told.
      if (entry == nullptr && errno != 0) target_.failed(Error::os(errno, path_).message());
      if (entry == nullptr) return found;
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      Found f{name, {}, 0};
      if (::fstatat(here_.get(), entry->d_name, &f.st, AT_SYMLINK_NOFOLLOW) != 0) {
        target_.failed(Error::os(errno, path_ + "/" + name).message());
        continue;
      }
      if (f.is_directory()) f.order = target_.name_hash()(name);
      found.push_back(std::move(f));
    }
  }

  void descend(InodeId parent, const Found& f) {
    const std::size_t path_bytes = path_.size();
    path_ += '/';
    path_ += f.name;
    struct stat st = f.st;
    FileDescriptor below(
        ::openat(here_.get(), f.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const int refused = !below || ::fstat(below.get(), &st) != 0 ? errno : 0;
    if (refused == 0 && above_.contains({st.st_dev, st.st_ino})) {
      target_.failed(path_ + " is a directory that it lies in itself; it was left out");
      path_.resize(path_bytes);
      return;
    }
    Inode attributes = inode_of(st);
    if (below) attributes.xattrs = xattrs_of_file(below.get());
    const auto made = target_.directory(parent, f.name, attributes);
    if (!made) target_.failed(path_ + ": " + made.error().message());
    if (made && refused != 0) target_.failed(Error::os(refused, path_).message());
    if (made && refused == 0) {
      here_ = std::move(below);
      return enter(*made, st);
    }
    path_.resize(path_bytes);
  }

  // Up by "..", as long as that is where the walk came from.
  Status ascend() {
    above_.erase(levels_.back().identity);
    levels_.pop_back();
    if (levels_.empty()) return {};
    FileDescriptor up(::openat(here_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat st;
    if (!up || ::fstat(up.get(), &st) != 0) return fail(errno, path_ + "/..");
    if (Identity{st.st_dev, st.st_ino} != levels_.back().identity) {
      return fail(Error::usage(path_ + " was moved while it was imported; what lies beside it is missing"));
    }
    here_ = std::move(up);
    path_.resize(levels_.back().path_bytes);
    return {};
  }

  void file(const std::string& name, InodeId parent, const struct stat& st) {
    Inode attributes = inode_of(st);
    if (st.st_nlink > 1) {
      const auto [it, first] = first_names_.try_emplace({st.st_dev, st.st_ino}, parent, name);
      if (!first) return target_.hard_link(parent, name, it->second.first, it->second.second);
    }
    // What is too deep for a path is reached through its directory, which is open now and not later.
    const bool now = path_.size() + 1 + name.size() >= PATH_MAX;
    const std::string path = (now ? "/proc/self/fd/" + std::to_string(here_.get()) : path_) + "/" + name;
    if (S_ISREG(st.st_mode)) return regular(path, name, parent, std::move(attributes), now);
    attributes.xattrs = xattrs_of_path(path);
    if (!S_ISLNK(st.st_mode)) return target_.special(parent, name, attributes);
    std::string link(4096, '\0');
    const ssize_t n = ::readlink(path.c_str(), link.data(), link.size());
    if (n < 0) return target_.failed(Error::os(errno, path_ + "/" + name).message());
    attributes.target.assign(link.data(), static_cast<std::size_t>(n));
    target_.symlink(parent, name, attributes);
  }

  void regular(const std::string& path, const std::string& name, InodeId parent, Inode attributes, bool now) {
    if (attributes.size > target_.small_limit()) {
      attributes.xattrs = xattrs_of_path(path);
      const auto copy = [path](const ImportTarget::WriteAt& write) { return copy_large(path, write); };
      if (now) return target_.large_file_now(parent, path_ + "/" + name, name, attributes, copy);
      return target_.large_file(parent, name, attributes, copy);
    }
    if (!now) {
      return target_.small_file(parent, name, attributes, [path](Inode& a) { return read_small(path, a); });
    }
    auto content = read_small(path, attributes);
    if (!content) return target_.failed(Error::os(content.error().errno_value, path_ + "/" + name).message());
    auto shared = std::make_shared<std::string>(std::move(*content));
    target_.small_file(parent, name, attributes,
                       [shared](Inode&) -> Result<std::string> { return std::move(*shared); });
  }

  ImportTarget& target_;
  FileDescriptor here_;
  std::string path_;  // for people, and as long as it is one for the kernel
  std::vector<Level> levels_;
  std::set<Identity> above_;
  std::map<Identity, std::pair<InodeId, std::string>> first_names_;
};

}  // namespace

Status import_directory(const std::string& source, ImportTarget& target) { return Walk(target).run(source); }

}  // namespace cffs
