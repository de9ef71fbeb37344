#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "core/object/file_descriptor.h"
#include "replay/play/renaming.h"
#include "replay/play/target.h"

namespace cffs::replay {
namespace {

std::int64_t result_of(std::int64_t r) { return r < 0 ? -errno : r; }

FileFacts facts_of(const struct stat& st) { return {st.st_mode, static_cast<std::uint64_t>(st.st_size)}; }

struct KernelEntry {  // linux_dirent64
  ino64_t ino;
  off64_t next;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

// Nothing leaves the target whatever the links of a trace say, or become by renames: the kernel follows none that leads out
// (EXDEV). Links that are absolute it takes for such, so those of a trace are made relative. What is opened to be read, too: modes, owners and
// times can be changed by any handle.
FileDescriptor open_below(int root, const char* path, int flags, std::uint32_t mode, Links links) {
  if (links == Links::own)
    return FileDescriptor(::openat(root, path, flags, static_cast<mode_t>(mode & 07777)));
  constexpr int kKnown = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_NONBLOCK | O_DSYNC | O_SYNC |
                         O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME | O_PATH | O_TMPFILE;
  constexpr int kTries = 1000;  // EAGAIN: something was renamed meanwhile, anywhere
  open_how how{};
  constexpr int kOfPaths =
      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;  // open(2) ignores the others then, openat2(2) does not
  how.flags = static_cast<std::uint64_t>(flags & ((flags & O_PATH) != 0 ? kOfPaths : kKnown));
  if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) how.mode = mode & 07777;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int i = 0;; ++i) {
    FileDescriptor opened(static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how)));
    if (opened || errno != EAGAIN || i == kTries) return opened;
  }
}

// The folder of a path, and the last name in it, which nothing follows.
class FolderBelow {
 public:
  FolderBelow(int root, const std::string& path, Links links) : at_(root), name_(path.empty() ? "." : path) {
    const std::size_t slash = path.rfind('/');
    if (links == Links::own || slash == std::string::npos) return;
    name_ = path.substr(slash + 1);
    opened_ = open_below(root, path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0, links);
    at_ = opened_.get();
    if (!opened_) problem_ = -errno;
  }
  bool found() const { return problem_ == 0; }
  std::int64_t problem() const { return problem_; }
  int at() const { return at_; }
  const char* name() const { return name_.c_str(); }
  std::string path() const { return proc_path_of(at_) + "/" + name_; }

 private:
  FileDescriptor opened_;
  int at_;
  std::string name_;
  std::int64_t problem_ = 0;
};

class DirectoryTarget final : public Target {
 public:
  DirectoryTarget(FileDescriptor root, std::string path, Links links)
      : root_(std::move(root)), path_(std::move(path)), links_(links) {}

  std::int64_t open(const std::string& path, std::uint32_t flags, std::uint32_t mode) override {
    const int usable = static_cast<int>(flags & ~static_cast<std::uint32_t>(O_DIRECT | O_APPEND)) | O_CLOEXEC;
    // Who opened a pipe in the recorded session waited for the other end, which is another client of this replay: nobody waits here.
    FileDescriptor opened = open_below(root_.get(), at(path), usable | O_NONBLOCK, mode, links_);
    if (!opened && errno == ENXIO && (usable & O_ACCMODE) == O_WRONLY)
      opened = open_below(root_.get(), at(path), (usable & ~O_ACCMODE) | O_RDWR | O_NONBLOCK, mode, links_);
    return opened ? opened.release() : -errno;
  }
  std::int64_t close(std::int64_t handle) override { return result_of(::close(fd(handle))); }
  std::int64_t read(std::int64_t handle, std::uint64_t offset, std::span<char> out) override {
    return result_of(::pread(fd(handle), out.data(), out.size(), static_cast<off_t>(offset)));
  }
  std::int64_t write(std::int64_t handle, std::uint64_t offset, std::span<const char> data) override {
    return result_of(::pwrite(fd(handle), data.data(), data.size(), static_cast<off_t>(offset)));
  }
  std::int64_t truncate(const std::string& path, std::uint64_t size) override {
    if (links_ == Links::own) return result_of(::truncate(whole(path).c_str(), static_cast<off_t>(size)));
    const FileDescriptor file = open_below(root_.get(), at(path), O_PATH | O_CLOEXEC, 0, links_);
    if (!file) return -errno;
    return result_of(::truncate(proc_path_of(file.get()).c_str(), static_cast<off_t>(size)));
  }
  std::int64_t truncate(std::int64_t handle, std::uint64_t size) override {
    return result_of(::ftruncate(fd(handle), static_cast<off_t>(size)));
  }
  std::int64_t fsync(std::int64_t handle, bool data_only) override {
    return result_of(data_only ? ::fdatasync(fd(handle)) : ::fsync(fd(handle)));
  }
  std::int64_t sync() override { return result_of(::syncfs(root_.get())); }
  std::int64_t stat(const std::string& path, bool follow, FileFacts& facts) override {
    struct stat st;
    const int r = ::fstatat(root_.get(), at(path), &st, follow ? 0 : AT_SYMLINK_NOFOLLOW);
    if (r == 0) facts = facts_of(st);
    return result_of(r);
  }
  std::int64_t stat(std::int64_t handle, FileFacts& facts) override {
    struct stat st;
    const int r = ::fstat(fd(handle), &st);
    if (r == 0) facts = facts_of(st);
    return result_of(r);
  }
  std::int64_t access(const std::string& path) override {
    return result_of(::faccessat(root_.get(), at(path), F_OK, 0));
  }
  std::int64_t readlink(const std::string& path, std::string& target) override {
    std::array<char, PATH_MAX> buffer;
    const ssize_t n = ::readlinkat(root_.get(), at(path), buffer.data(), buffer.size());
    if (n >= 0) target.assign(buffer.data(), static_cast<std::size_t>(n));
    return result_of(n);
  }
  std::int64_t list(std::int64_t handle, std::vector<std::string>* names) override {
    alignas(KernelEntry) thread_local std::array<char, 32768> buffer;
    if (::lseek(fd(handle), 0, SEEK_SET) < 0) return -errno;
    std::int64_t entries = 0;
    for (;;) {
      const long n = ::syscall(SYS_getdents64, fd(handle), buffer.data(), buffer.size());
      if (n < 0) return -errno;
      if (n == 0) return entries;
      for (long i = 0; i < n;) {
        const auto* entry = reinterpret_cast<const KernelEntry*>(buffer.data() + i);
        i += entry->bytes;
        if (std::strcmp(entry->name, ".") == 0 || std::strcmp(entry->name, "..") == 0) continue;
        ++entries;
        if (names != nullptr) names->emplace_back(entry->name);
      }
    }
  }
  std::int64_t mkdir(const std::string& path, std::uint32_t mode) override {
    return below(path, [&](const FolderBelow& f) { return ::mkdirat(f.at(), f.name(), mode & 07777); });
  }
  std::int64_t rmdir(const std::string& path) override {
    return below(path, [](const FolderBelow& f) { return ::unlinkat(f.at(), f.name(), AT_REMOVEDIR); });
  }
  std::int64_t unlink(const std::string& path) override {
    return below(path, [](const FolderBelow& f) { return ::unlinkat(f.at(), f.name(), 0); });
  }
  std::int64_t rename(const std::string& from, const std::string& to, std::uint32_t flags) override {
    const FolderBelow old(root_.get(), from, links_), now(root_.get(), to, links_);
    if (!old.found()) return old.problem();
    if (!now.found()) return now.problem();
    const auto rename = [&](std::uint32_t with) {
      return result_of(::renameat2(old.at(), old.name(), now.at(), now.name(), with));
    };
    const auto look = [&] {
      struct stat there;
      return result_of(::fstatat(now.at(), now.name(), &there, AT_SYMLINK_NOFOLLOW));
    };
    return rename_as_programs_do(flags, {rename, look});
  }
  std::int64_t link(const std::string& from, const std::string& to) override {
    const FolderBelow old(root_.get(), from, links_);
    if (!old.found()) return old.problem();
    return below(to,
                 [&](const FolderBelow& f) { return ::linkat(old.at(), old.name(), f.at(), f.name(), 0); });
  }
  std::int64_t symlink(const std::string& target, const std::string& path) override {
    return below(path, [&](const FolderBelow& f) { return ::symlinkat(target.c_str(), f.at(), f.name()); });
  }
  std::int64_t mknod(const std::string& path, std::uint32_t mode) override {
    return below(path, [&](const FolderBelow& f) { return ::mknodat(f.at(), f.name(), mode, 0); });
  }
  std::int64_t chmod(const std::string& path, std::uint32_t mode) override {
    if (links_ == Links::own) return result_of(::fchmodat(root_.get(), at(path), mode & 07777, 0));
    const FileDescriptor file = open_below(root_.get(), at(path), O_PATH | O_CLOEXEC, 0, links_);
    if (!file) return -errno;
    return result_of(::chmod(proc_path_of(file.get()).c_str(), mode & 07777));
  }
  std::int64_t chmod(std::int64_t handle, std::uint32_t mode) override {
    return result_of(::fchmod(fd(handle), mode & 07777));
  }
  std::int64_t chown(const std::string& path) override {
    return below(path, [](const FolderBelow& f) {
      return ::fchownat(f.at(), f.name(), ::geteuid(), ::getegid(), AT_SYMLINK_NOFOLLOW);
    });
  }
  std::int64_t chown(std::int64_t handle) override {
    return result_of(::fchown(fd(handle), ::geteuid(), ::getegid()));
  }
  std::int64_t utimens(const std::string& path) override {
    return below(path, [](const FolderBelow& f) {
      return ::utimensat(f.at(), f.name(), nullptr, AT_SYMLINK_NOFOLLOW);
    });
  }
  std::int64_t utimens(std::int64_t handle) override { return result_of(::futimens(fd(handle), nullptr)); }
  std::int64_t getxattr(const std::string& path, const std::string& name) override {
    std::array<char, 65536> value;
    return result_of(::lgetxattr(whole(path).c_str(), name.c_str(), value.data(), value.size()));
  }
  std::int64_t setxattr(const std::string& path, const std::string& name, std::string_view value) override {
    return below(path, [&](const FolderBelow& f) {
      return ::lsetxattr(f.path().c_str(), name.c_str(), value.data(), value.size(), 0);
    });
  }
  std::int64_t listxattr(const std::string& path) override {
    std::array<char, 65536> names;
    return result_of(::llistxattr(whole(path).c_str(), names.data(), names.size()));
  }
  std::int64_t removexattr(const std::string& path, const std::string& name) override {
    return below(path, [&](const FolderBelow& f) { return ::lremovexattr(f.path().c_str(), name.c_str()); });
  }
  std::int64_t getxattr(std::int64_t handle, const std::string& name) override {
    std::array<char, 65536> value;
    return result_of(::fgetxattr(fd(handle), name.c_str(), value.data(), value.size()));
  }
  std::int64_t setxattr(std::int64_t handle, const std::string& name, std::string_view value) override {
    return result_of(::fsetxattr(fd(handle), name.c_str(), value.data(), value.size(), 0));
  }
  std::int64_t listxattr(std::int64_t handle) override {
    std::array<char, 65536> names;
    return result_of(::flistxattr(fd(handle), names.data(), names.size()));
  }
  std::int64_t removexattr(std::int64_t handle, const std::string& name) override {
    return result_of(::fremovexattr(fd(handle), name.c_str()));
  }

 private:
  template <typename Change>
  std::int64_t below(const std::string& path, Change change) const {
    const FolderBelow folder(root_.get(), path, links_);
    return folder.found() ? result_of(change(folder)) : folder.problem();
  }
  static int fd(std::int64_t handle) { return static_cast<int>(handle); }
  static const char* at(const std::string& path) { return path.empty() ? "." : path.c_str(); }
  std::string whole(const std::string& path) const { return path_ + "/" + path; }

  FileDescriptor root_;
  const std::string path_;
  const Links links_;
};

}  // namespace

Result<std::unique_ptr<Target>> make_directory_target(const std::string& directory, Links links) {
  std::array<char, PATH_MAX> resolved;
  if (::realpath(directory.c_str(), resolved.data()) == nullptr) return fail(errno, "target " + directory);
  FileDescriptor root(::open(resolved.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno, "target " + directory);
  if (links == Links::anybodys && !open_below(root.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0, links)) {
    return fail(Error::usage(
        "target " + directory + " cannot be kept apart from what is around it: openat2(2) fails (" +
        std::strerror(errno) + "); it takes Linux 5.6 or later, and a container that permits the call"));
  }
  return std::unique_ptr<Target>(std::make_unique<DirectoryTarget>(std::move(root), resolved.data(), links));
}

}  // namespace cffs::replay
