#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "core/browse/compared_tree.h"
#include "core/fs/stat_attributes.h"
#include "core/object/file_descriptor.h"
#include "core/object/page_cache_io.h"

namespace cffs {
namespace {

class FileData final : public TreeData {
 public:
  FileData(FileDescriptor fd, std::string shown) : fd_(std::move(fd)), shown_(std::move(shown)) {}
  Result<std::size_t> read(std::uint64_t offset, Bytes out) override {
    const ssize_t n = read_fully(fd_.get(), offset, out);
    if (n < 0) return fail(errno, shown_);
    return static_cast<std::size_t>(n);
  }

 private:
  const FileDescriptor fd_;
  const std::string shown_;
};

// One descriptor, of the directory where it is: a tree may be deeper than a process may have files open. On the way back ".." must be
// what was come from.
class DirectoryTree final : public ComparedTree {
 public:
  DirectoryTree(std::string path, const struct stat& st)
      : path_(std::move(path)), start_(attributes_of(st)) {}

  const Attributes& start() const override { return start_; }

  Result<std::vector<ListedEntry>> enter(const std::string& directory) override {
    constexpr int kHow = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    FileDescriptor next(above_.empty() ? ::open(path_.c_str(), kHow)
                                       : ::openat(here_.get(), directory.c_str(), kHow | O_NOFOLLOW));
    struct stat st;
    if (!next || ::fstat(next.get(), &st) != 0) return fail(errno, name_of(directory));
    CFFS_TRY(auto entries, list(next.get(), directory));
    above_.push_back({st.st_dev, st.st_ino, shown_.size()});
    shown_ = above_.size() == 1 ? path_ : shown_ + "/" + directory;
    here_ = std::move(next);
    return entries;
  }

  Status leave() override {
    shown_.resize(above_.back().shown_bytes);
    above_.pop_back();
    if (above_.empty()) {
      here_.reset();
      return {};
    }
    here_ = FileDescriptor(::openat(here_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat st;
    if (!here_ || ::fstat(here_.get(), &st) != 0) return fail(errno, shown_);
    if (st.st_dev != above_.back().device || st.st_ino != above_.back().inode)
      return fail(Error::usage(shown_ + " was moved while it was compared; begin again"));
    return {};
  }

  Result<std::unique_ptr<TreeData>> open(const std::string& file) override {
    // Not blocking, should a pipe have taken its name meanwhile.
    constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    FileDescriptor fd(above_.empty() ? ::open(path_.c_str(), kHow)
                                     : ::openat(here_.get(), file.c_str(), kHow | O_NOFOLLOW));
    if (!fd) return fail(errno, name_of(file));
    return std::make_unique<FileData>(std::move(fd), name_of(file));
  }

  Result<std::string> target(const std::string& link) override {
    std::string text(4096, '\0');
    const ssize_t n = above_.empty() ? ::readlink(path_.c_str(), text.data(), text.size())
                                     : ::readlinkat(here_.get(), link.c_str(), text.data(), text.size());
    if (n < 0) return fail(errno, name_of(link));
    text.resize(static_cast<std::size_t>(n));
    return text;
  }

  // There is no call that takes a descriptor of a folder and a name.
  Result<Xattrs> xattrs(const std::string& file, mode_t) override {
    const std::string at = above_.empty() ? path_ : proc_path_of(here_.get()) + "/" + file;
    const bool follow = above_.empty();
    constexpr std::size_t kMost = 64 * 1024;  // as the kernel has it
    std::string names(kMost, '\0');
    const ssize_t n =
        follow ? ::listxattr(at.c_str(), names.data(), kMost) : ::llistxattr(at.c_str(), names.data(), kMost);
    if (n < 0 && errno == EOPNOTSUPP) return Xattrs();
    if (n < 0) return fail(errno, name_of(file) + ", its extended attributes");
    names.resize(static_cast<std::size_t>(n));
    Xattrs found;
    for (std::size_t from = 0; from < names.size();) {
      const std::string name = names.c_str() + from;
      from += name.size() + 1;
      std::string value(kMost, '\0');
      const ssize_t size = follow ? ::getxattr(at.c_str(), name.c_str(), value.data(), kMost)
                                  : ::lgetxattr(at.c_str(), name.c_str(), value.data(), kMost);
      if (size < 0 && errno == ENODATA) continue;
      if (size < 0) return fail(errno, name_of(file) + ", attribute " + name);
      value.resize(static_cast<std::size_t>(size));
      found.emplace_back(name, std::move(value));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  struct Above {
    dev_t device = 0;
    ino_t inode = 0;
    std::size_t shown_bytes = 0;  // of the name of what is above
  };

  std::string name_of(const std::string& entry) const {
    return above_.empty() ? path_ : shown_ + "/" + entry;
  }

  Result<std::vector<ListedEntry>> list(int directory, const std::string& name) const {
    const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
    DIR* const stream = copy < 0 ? nullptr : ::fdopendir(copy);
    if (stream == nullptr) {
      const int reason = errno;
      if (copy >= 0) ::close(copy);
      return fail(reason, name_of(name));
    }
    std::vector<ListedEntry> entries;
    int reason = 0;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) {
        reason = errno;
        break;
      }
      const std::string_view found = entry->d_name;
      struct stat st;
      if (found == "." || found == "..") continue;
      if (::fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // gone since it was listed
        reason = errno;
        break;
      }
      entries.push_back({std::string(found), attributes_of(st)});
    }
    ::closedir(stream);
    if (reason != 0) return fail(reason, name_of(name));
    std::sort(entries.begin(), entries.end(),
              [](const ListedEntry& a, const ListedEntry& b) { return a.name < b.name; });
    return entries;
  }

  const std::string path_;
  const Attributes start_;
  std::vector<Above> above_;
  std::string shown_;  // the directory that it is in
  FileDescriptor here_;
};

}  // namespace

Result<std::unique_ptr<ComparedTree>> compared_directory(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return fail(errno, path);
  return std::make_unique<DirectoryTree>(path, st);
}

}  // namespace cffs
