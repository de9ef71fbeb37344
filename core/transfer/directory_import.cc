#include "core/transfer/directory_import.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "core/object/beneath.h"
#include "core/object/file_descriptor.h"
#include "core/transfer/file_xattrs.h"

namespace cffs {
namespace {

constexpr std::size_t kCopyBytes = 1u << 20;
constexpr std::uint64_t kMostInMemory = 32u << 20;  // of one that was listed as less

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

// The source itself, from which its files are opened when it is their turn.
struct SourceRoot {
  SourceRoot(FileDescriptor opened, ImportTarget& to)
      : fd(std::move(opened)), beneath(fd.get()), target(to) {}
  const FileDescriptor fd;
  const Beneath beneath;
  ImportTarget& target;
};

// What cannot be read of them is told, and the file comes without: its content is what matters. An error: nothing but descriptors or memory
// was short. Then it does not come, since the next try would take it for whole.
Status take_xattrs(ImportTarget& target, const std::string& path, Result<Xattrs> read, Inode& attributes) {
  if (read) {
    attributes.xattrs = std::move(*read);
    return {};
  }
  Error problem = Error::os(read.error().errno_value, path + ", extended attributes");
  if (problem.is_shortage()) return fail(std::move(problem));
  target.failed(problem.message());
  return {};
}

// A regular file of it. Between the listing and its turn its owner may have put anything in its place, or in that of a directory above
// it: a link to what he must not read, a pipe that makes who opens it wait for ever.
class SourceFile {
 public:
  SourceFile(std::shared_ptr<const SourceRoot> root, std::string inside, std::string path,
             const struct stat& st)
      : root_(std::move(root)), inside_(std::move(inside)), path_(std::move(path)), listed_(st) {}

  const std::string& path() const { return path_; }  // for people

  Result<FileDescriptor> open() const {
    return open_by([this](int flags) { return root_->beneath.open(inside_, flags); });
  }
  // Of one that is too deep for a path: through its directory, which is open now.
  Result<FileDescriptor> open_in(int directory, const std::string& name) const {
    return open_by([&](int flags) { return open_by_components(directory, name, flags | O_NONBLOCK); });
  }
  // Whose is it, and who may read it, where another file has the name by now.
  Status take_attributes(const FileDescriptor& fd, Inode& attributes) const {
    struct stat st {};
    if (::fstat(fd.get(), &st) != 0) return fail(errno, path_);
    if (st.st_dev != listed_.st_dev || st.st_ino != listed_.st_ino) attributes = inode_of(st);
    return take_xattrs(root_->target, path_, xattrs_of_file(fd.get()), attributes);
  }

 private:
  template <typename Open>
  Result<FileDescriptor> open_by(Open open) const {
    constexpr int kFlags = O_RDONLY | O_CLOEXEC;
    FileDescriptor fd = open(kFlags | O_NOATIME);
    if (!fd && errno == EPERM) fd = open(kFlags);
    struct stat st {};
    if (!fd || ::fstat(fd.get(), &st) != 0) return fail(errno, path_);
    if (!S_ISREG(st.st_mode))
      return fail(
          Error::usage(path_ + " became something else meanwhile; the same command looks at it again"));
    return fd;
  }

  std::shared_ptr<const SourceRoot> root_;
  std::string inside_, path_;
  struct stat listed_;
};

// For who asks what a large file holds. One that is a quarter holes has nothing to say: it keeps them as a large one only.
class Sample {
 public:
  Sample(Result<FileDescriptor> fd, std::uint64_t size)
      : fd_(std::move(fd)), is_sparse_(fd_ && holes(*fd_, size) >= size / 4) {}

  Result<std::size_t> read(std::uint64_t offset, Bytes out) const {
    if (!fd_) return fail(fd_.error());
    if (is_sparse_) return fail(ENODATA);
    const ssize_t n = ::pread(fd_->get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0) return fail(errno);
    return static_cast<std::size_t>(n);
  }

 private:
  static std::uint64_t holes(const FileDescriptor& fd, std::uint64_t size) {
    constexpr int kMostLooks = 1024;
    std::uint64_t bytes = 0;
    auto at = off_t{0};
    for (int i = 0; i < kMostLooks; ++i) {
      const off_t hole = ::lseek(fd.get(), at, SEEK_HOLE);
      if (hole < 0 || static_cast<std::uint64_t>(hole) >= size) break;
      at = ::lseek(fd.get(), hole, SEEK_DATA);
      const std::uint64_t end = at < 0 ? size : std::min(size, static_cast<std::uint64_t>(at));
      bytes += end - static_cast<std::uint64_t>(hole);
      if (at < 0) break;
    }
    return bytes;
  }

  const Result<FileDescriptor> fd_;
  const bool is_sparse_;
};

// Of what was small when it was listed. One that has become more than that may be another kind of file by now.
Result<std::string> read_small(const SourceFile& file, const FileDescriptor& fd, Inode& attributes) {
  const std::uint64_t most = std::max<std::uint64_t>(kMostInMemory, attributes.size);
  CFFS_TRY_VOID(file.take_attributes(fd, attributes));
  const auto grew = [&] {
    return fail(
        Error::usage(file.path() + " grew while it was imported; the same command looks at it again"));
  };
  if (attributes.size > most) return grew();
  std::string content(attributes.size + 1, '\0');
  std::size_t done = 0;
  for (;;) {
    const ssize_t n =
        ::pread(fd.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(errno, file.path());
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    if (done > most) return grew();
    if (done == content.size()) content.resize(content.size() * 2);  // it grew since it was listed
  }
  content.resize(done);
  return content;
}

Status copy_large(const std::string& path, const FileDescriptor& fd, std::uint64_t size,
                  const ImportTarget::WriteAt& write) {
  std::string buffer(std::min<std::uint64_t>(kCopyBytes, size + 1), '\0');
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

// Whether what is read there, which has its size, is what is in that file. What cannot be read is taken for another.
bool has_content_of(const Result<FileDescriptor>& fd, const ReadAt& there) {
  if (!fd) return false;
  std::string here(kCopyBytes, '\0'), other(kCopyBytes, '\0');
  for (std::uint64_t at = 0;;) {
    const ssize_t n = ::pread(fd->get(), here.data(), here.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    const auto bytes = static_cast<std::size_t>(n);
    const auto read = there(at, as_writable_bytes(other).first(std::max<std::size_t>(bytes, 1)));
    if (!read || *read != bytes || here.compare(0, bytes, other, 0, bytes) != 0) return false;
    if (bytes == 0) return true;
    at += bytes;
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
    FileDescriptor root(::openat(here_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) return fail(errno, source);
    root_ = std::make_shared<const SourceRoot>(std::move(root), target_);
    Inode attributes = inode_of(st);
    take_directory_xattrs(here_, attributes);
    source_bytes_ = path_.size();
    target_.directory_attributes(target_.root(), attributes);
    look_at_time(st);
    enter(target_.root(), st);
    while (!levels_.empty() && !target_.stopped()) {
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
    take_away_others(ino, found);
    // Files by name: who wants some of them mostly wants neighbours. Directories as the store will list them, which is how those
    // who go through all of them come by.
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return std::make_tuple(a.is_directory(), a.order, std::string_view(a.name)) <
             std::make_tuple(b.is_directory(), b.order, std::string_view(b.name));
    });
    for (Found& f : found) {
      if (f.is_directory()) {
        levels_.back().directories.push_back(std::move(f));
      } else if (!target_.stopped()) {
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
      const auto& excludes = target_.rules().excludes;
      if (!excludes.empty() && excludes.match(inside(name), f.is_directory())) continue;
      if (f.is_directory()) f.order = target_.order_of(name);
      found.push_back(std::move(f));
    }
  }

  // Where it is in the source: "a/b".
  std::string inside(const std::string& name) const {
    const std::string here = path_.size() > source_bytes_ ? path_.substr(source_bytes_ + 1) : "";
    return here.empty() ? name : name.empty() ? here : here + "/" + name;
  }

  void take_away_others(InodeId ino, const std::vector<Found>& found) {
    if (!target_.rules().erase) return;
    std::set<std::string, std::less<>> names;
    for (const Found& f : found) names.insert(f.name);
    target_.only(ino, inside(""), names);
  }

  void descend(InodeId parent, const Found& f) {
    const std::size_t path_bytes = path_.size();
    path_ += '/';
    path_ += f.name;
    struct stat st = f.st;
    FileDescriptor below(
        ::openat(here_.get(), f.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    // One that may be listed and not entered has no way up, either.
    const bool can_enter =
        below && ::fstat(below.get(), &st) == 0 && ::faccessat(below.get(), ".", X_OK, AT_EACCESS) == 0;
    const int refused = can_enter ? 0 : errno;
    if (refused == 0 && target_.is_destination(st.st_dev, st.st_ino)) {
      target_.failed(path_ + " is where the files go; it was left out");
      path_.resize(path_bytes);
      return;
    }
    if (refused == 0 && above_.contains({st.st_dev, st.st_ino})) {
      target_.failed(path_ + " is a directory that it lies in itself; it was left out");
      path_.resize(path_bytes);
      return;
    }
    Inode attributes = inode_of(st);
    if (below) take_directory_xattrs(below, attributes);
    const auto made = target_.directory(parent, f.name, attributes);
    if (!made) {
      const bool whole = made.error().kind == ErrorKind::usage;
      target_.failed(whole ? made.error().message() : path_ + ": " + made.error().message());
    }
    if (made && refused != 0) target_.failed(Error::os(refused, path_).message());
    if (made && refused == 0) {
      look_at_time(st);
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

  // A directory comes in any case: the next try settles it again.
  void take_directory_xattrs(const FileDescriptor& fd, Inode& attributes) {
    const Status taken = take_xattrs(target_, path_, xattrs_of_file(fd.get()), attributes);
    if (!taken) target_.failed(taken.error().message());
  }

  void look_at_time(const struct stat& st) {
    if (!fits_ns(st.st_mtim.tv_sec)) target_.time_changed();
  }

  void file(const std::string& name, InodeId parent, const struct stat& st) {
    Inode attributes = inode_of(st);
    if (st.st_nlink > 1) {
      const auto [it, first] = first_names_.try_emplace({st.st_dev, st.st_ino}, parent, name);
      if (!first) return target_.hard_link(parent, name, it->second.first, it->second.second);
    }
    look_at_time(st);
    const std::string shown = path_ + "/" + name;
    if (S_ISREG(st.st_mode))
      return regular({root_, inside(name), shown, st}, name, parent, std::move(attributes));
    const Status taken =
        take_xattrs(target_, shown, xattrs_of_path(proc_path_of(here_.get()) + "/" + name), attributes);
    if (!taken) return target_.did_not_come(parent, name, taken.error().message());
    if (!S_ISLNK(st.st_mode)) return target_.special(parent, name, attributes);
    std::string link(4096, '\0');
    const ssize_t n = ::readlinkat(here_.get(), name.c_str(), link.data(), link.size());
    if (n < 0) return target_.did_not_come(parent, name, Error::os(errno, shown).message());
    attributes.target.assign(link.data(), static_cast<std::size_t>(n));
    target_.symlink(parent, name, attributes);
  }

  void regular(const SourceFile& file, const std::string& name, InodeId parent, Inode attributes) {
    // What is too deep for a path is reached through its directory, which is open now and not later.
    const bool now = file.path().size() >= PATH_MAX;
    std::optional<Sample> sample;
    const bool small = target_.is_small(attributes.size, [&](std::uint64_t offset, Bytes out) {
      if (!sample) sample.emplace(file.open_in(here_.get(), name), attributes.size);
      return sample->read(offset, out);
    });
    const auto same = [&](const ReadAt& there) {
      return has_content_of(now ? file.open_in(here_.get(), name) : file.open(), there);
    };
    if (small && !now) {
      const auto read = [file](Inode& a) -> Result<std::string> {
        CFFS_TRY(const FileDescriptor fd, file.open());
        return read_small(file, fd, a);
      };
      return target_.small_file(parent, name, attributes, read, same);
    }
    // Its attributes are those of the file that is open here, and so is what is read.
    auto opened = file.open_in(here_.get(), name);
    if (!opened) return target_.did_not_come(parent, name, opened.error().message());
    if (small) {
      auto content = read_small(file, *opened, attributes);
      if (!content) return target_.did_not_come(parent, name, content.error().message());
      auto shared = std::make_shared<std::string>(std::move(*content));
      return target_.small_file(
          parent, name, attributes, [shared](Inode&) -> Result<std::string> { return std::move(*shared); },
          same);
    }
    if (const Status taken = file.take_attributes(*opened, attributes); !taken)
      return target_.did_not_come(parent, name, taken.error().message());
    const auto fd = std::make_shared<const FileDescriptor>(std::move(*opened));
    const auto copy = [path = file.path(), fd, size = attributes.size](const ImportTarget::WriteAt& write) {
      return copy_large(path, *fd, size, write);
    };
    if (now) return target_.large_file_now(parent, file.path(), name, attributes, copy, same);
    target_.large_file(parent, name, attributes, copy, same);
  }

  ImportTarget& target_;
  FileDescriptor here_;
  std::shared_ptr<const SourceRoot> root_;
  std::string path_;              // for people
  std::size_t source_bytes_ = 0;  // of it: the source
  std::vector<Level> levels_;
  std::set<Identity> above_;
  std::map<Identity, std::pair<InodeId, std::string>> first_names_;
};

}  // namespace

Status import_directory(const std::string& source, ImportTarget& target) { return Walk(target).run(source); }

}  // namespace cffs
