#include "core/object/posix_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "core/object/blocking_section.h"

namespace cffs {
namespace {

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string(".") : name.substr(0, slash);
}

// Who holds the lock: the text that its last exclusive holder wrote.
std::string holder_of(int lock) {
  std::string holder(200, '\0');
  const ssize_t n = ::pread(lock, holder.data(), holder.size(), 0);
  holder.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return holder;
}

class PosixLock final : public StoreLock {
 public:
  explicit PosixLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;  // closing releases the flock, also when the process is killed
};

}  // namespace

class PosixObject final : public Object {
 public:
  PosixObject(PosixStore& store, std::string name, FileDescriptor fd, bool fresh)
      : store_(store), name_(std::move(name)), fd_(std::move(fd)), name_unsynced_(fresh) {}

  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    read_end_.store(offset + out.size(), std::memory_order_relaxed);
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t n =
          ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return error();
      if (n == 0) break;
      done += static_cast<std::size_t>(n);
    }
    return done;
  }

  bool in_memory(std::uint64_t offset, std::uint64_t length) const override {
    // cachestat(2), Linux 6.5; C libraries do not wrap it yet.
    constexpr long kCachestat = 451;
    struct Range {
      std::uint64_t offset, length;
    } range{offset, length};
    struct Counts {
      std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } counts{};
    static std::atomic<bool> supported{true};
    if (!supported.load(std::memory_order_relaxed) || length == 0) return true;
    // One after the other: the kernel's own read-ahead, which reading starts, is better at that than we are.
    constexpr std::uint64_t kNear = 4096;  // a record's header lies between two members
    const std::uint64_t end = read_end_.load(std::memory_order_relaxed);
    if (offset >= end && offset - end <= kNear) return true;
    if (::syscall(kCachestat, fd_.get(), &range, &counts, 0) != 0) {
      supported.store(false, std::memory_order_relaxed);
      return true;
    }
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return counts.cached >= (offset + length - 1) / page - offset / page + 1;
  }

  Result<std::optional<std::size_t>> try_read_at(std::uint64_t offset, Bytes out) const override {
    iovec piece{out.data(), out.size()};
    read_end_.store(offset + out.size(), std::memory_order_relaxed);
    const ssize_t n = ::preadv2(fd_.get(), &piece, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == EOPNOTSUPP)) {
      return std::optional<std::size_t>();
    }
    if (n < 0) return error();
    // A short answer may be the end of the object or the end of what is cached; only a full one is certain.
    if (static_cast<std::size_t>(n) < out.size()) return std::optional<std::size_t>();
    return std::optional<std::size_t>(static_cast<std::size_t>(n));
  }

  Status write_at(std::uint64_t offset, ConstBytes data) override {
    std::size_t done = 0;
    while (done < data.size()) {
      const ssize_t n =
          ::pwrite(fd_.get(), data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return error();
      done += static_cast<std::size_t>(n);
    }
    return {};
  }

  Result<std::uint64_t> append(ConstBytes data) override {
    const off_t end = ::lseek(fd_.get(), 0, SEEK_END);
    if (end < 0) return error();
    CFFS_TRY_VOID(write_at(static_cast<std::uint64_t>(end), data));
    return static_cast<std::uint64_t>(end);
  }

  Status truncate(std::uint64_t size) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) return error();
    return {};
  }

  Status punch_hole(std::uint64_t offset, std::uint64_t length) override {
    if (::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(length)) == 0) {
      return {};
    }
    if (errno != EOPNOTSUPP) return error();
    CFFS_TRY(const ObjectInfo now, info());
    const std::string zeros(64 * 1024, '\0');
    const std::uint64_t end = std::min(now.size, offset + length);
    for (std::uint64_t at = offset; at < end; at += zeros.size()) {
      CFFS_TRY_VOID(write_at(at, as_bytes(zeros).first(std::min<std::uint64_t>(zeros.size(), end - at))));
    }
    return {};
  }

  Status allocate(std::uint64_t offset, std::uint64_t length) override {
    while (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(length)) != 0) {
      if (errno != EINTR) return error();
    }
    return {};
  }

  Result<ObjectInfo> info() const override {
    struct stat st;
    if (::fstat(fd_.get(), &st) != 0) return error();
    return ObjectInfo{static_cast<std::uint64_t>(st.st_size), static_cast<std::uint64_t>(st.st_blocks) * 512};
  }

  Result<std::uint64_t> next_data(std::uint64_t offset) const override { return seek(offset, SEEK_DATA); }
  Result<std::uint64_t> next_hole(std::uint64_t offset) const override { return seek(offset, SEEK_HOLE); }

  Status sync() override {
    announce_blocking();
    // The kernel tells a descriptor of a failed writeback once: of two who ask at the same time, and of all who ask later,
    // only one would learn of it.
    const MutexLock one_at_a_time(sync_mutex_);
    if (sync_failed_ != 0) return fail(sync_failed_, store_.full_name(name_));
    if (::fdatasync(fd_.get()) != 0) {
      sync_failed_ = errno;
      return error();
    }
    if (name_unsynced_.load(std::memory_order_acquire)) {
      CFFS_TRY_VOID(store_.sync_folders_of(name_));
      name_unsynced_.store(false, std::memory_order_release);
    }
    return {};
  }

  void prefetch(std::uint64_t offset, std::uint64_t length) const override {
    // The kernel cuts a WILLNEED at its largest I/O, so ask piece by piece; neighbours merge in the block
    // layer.
    constexpr std::uint64_t kPiece = 512 * 1024;
    for (std::uint64_t at = offset; at < offset + length; at += kPiece) {
      const std::uint64_t n = std::min(kPiece, offset + length - at);
      (void)::posix_fadvise(fd_.get(), static_cast<off_t>(at), static_cast<off_t>(n), POSIX_FADV_WILLNEED);
    }
  }

 private:
  Result<std::uint64_t> seek(std::uint64_t offset, int whence) const {
    const off_t at = ::lseek(fd_.get(), static_cast<off_t>(offset), whence);
    if (at >= 0) return static_cast<std::uint64_t>(at);
    const bool cannot_tell = errno == EINVAL;  // the backing file system: all may be data
    if (errno != ENXIO && !cannot_tell) return error();
    if (cannot_tell && whence == SEEK_DATA) return offset;
    CFFS_TRY(const ObjectInfo now, info());
    return now.size;
  }
  tl::unexpected<Error> error() const { return fail(errno, store_.full_name(name_)); }

  PosixStore& store_;
  mutable std::atomic<std::uint64_t> read_end_{0};
  const std::string name_;
  const FileDescriptor fd_;
  std::atomic<bool> name_unsynced_;
  Mutex sync_mutex_;                                  // one sync at a time; before the store's
  int sync_failed_ CFFS_GUARDED_BY(sync_mutex_) = 0;  // errno of the first sync that failed
};

Result<std::unique_ptr<PosixStore>> PosixStore::open_directory(const std::string& directory, Access access) {
  FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(errno, directory);
  return std::unique_ptr<PosixStore>(new PosixStore(directory, std::move(fd), access));
}

void PosixStore::on_shortage(std::function<std::size_t()> relieve) {
  const MutexLock guard(relief_mutex_);
  relieve_ = std::move(relieve);
}

void PosixStore::keep_spare() const {
  constexpr std::size_t kSpare = 8;
  const MutexLock guard(relief_mutex_);
  while (spare_.size() < kSpare) {
    FileDescriptor fd(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
    if (!fd) return;
    spare_.push_back(std::move(fd));
  }
}

FileDescriptor PosixStore::open_below(const std::string& name, int flags) const {
  constexpr int kTries = 16;  // what is closed may be taken by somebody else
  for (int attempt = 0;; ++attempt) {
    FileDescriptor fd(::openat(root_.get(), name.c_str(), flags, 0600));
    const int reason = errno;
    if (fd || (reason != EMFILE && reason != ENFILE)) return fd;
    {
      const MutexLock guard(relief_mutex_);
      bool relieved = relieve_ && relieve_() > 0;
      if (!relieved && !spare_.empty()) {
        spare_.pop_back();
        relieved = true;
      }
      if (!relieved || attempt == kTries) {
        errno = reason;
        return fd;
      }
    }
  }
}

FileDescriptor PosixStore::open_file(const std::string& name, int flags) const {
  if (access_ == Access::read_write) return open_below(name, flags);
  FileDescriptor fd = open_below(name, flags | O_NOATIME);
  if (!fd && errno == EPERM) fd = open_below(name, flags);  // another's file
  return fd;
}

// Each sync opens the folder anew, and only one of those who do is told of a failure: it counts for all who come after.
Status PosixStore::sync_folder(const std::string& folder) const {
  {
    const FileDescriptor fd = open_below(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!fd) return fail(errno, full_name(folder));
    if (::fsync(fd.get()) != 0) names_failed_.store(errno, std::memory_order_release);
  }
  const int failed = names_failed_.load(std::memory_order_acquire);
  if (failed != 0) return fail(failed, full_name(folder));
  keep_spare();
  return {};
}

Status PosixStore::writable(std::string_view name) const {
  if (access_ == Access::read_only) return fail(EROFS, full_name(name));
  return {};
}

Status PosixStore::make_folders(const std::string& name) {
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string folder = name.substr(0, slash);
    if (::mkdirat(root_.get(), folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail(errno, full_name(folder));
    }
  }
  return {};
}

Status PosixStore::sync_folders_of(const std::string& name) {
  // The whole chain: a folder made on the way is as new as the object.
  std::string folder = name;
  while (folder != ".") {
    folder = folder_of(folder);
    CFFS_TRY_VOID(sync_folder(folder));
  }
  return {};
}

Result<std::shared_ptr<Object>> PosixStore::create(std::string_view name_view, Create how) {
  const std::string name(name_view);
  CFFS_TRY_VOID(writable(name));
  int flags = O_RDWR | O_CREAT | O_CLOEXEC;
  if (how == Create::exclusive) flags |= O_EXCL;
  if (how == Create::truncate) flags |= O_TRUNC;
  FileDescriptor fd = open_file(name, flags);
  if (!fd && errno == ENOENT) {
    CFFS_TRY_VOID(make_folders(name));
    fd = open_file(name, flags);
  }
  if (!fd) return fail(errno, full_name(name));
  return std::make_shared<PosixObject>(*this, name, std::move(fd), true);
}

Result<std::shared_ptr<Object>> PosixStore::open(std::string_view name_view) {
  const std::string name(name_view);
  announce_blocking();
  FileDescriptor fd = open_file(name, (access_ == Access::read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  if (!fd) return fail(errno, full_name(name));
  return std::make_shared<PosixObject>(*this, name, std::move(fd), false);
}

Status PosixStore::remove(std::string_view name_view) {
  const std::string name(name_view);
  CFFS_TRY_VOID(writable(name));
  if (::unlinkat(root_.get(), name.c_str(), 0) != 0) return fail(errno, full_name(name));
  const MutexLock guard(changed_mutex_);
  changed_folders_.insert(folder_of(name));
  return {};
}

Status PosixStore::rename(std::string_view from_view, std::string_view to_view) {
  const std::string from(from_view);
  const std::string to(to_view);
  CFFS_TRY_VOID(writable(from));
  const auto renamed = [&] { return ::renameat(root_.get(), from.c_str(), root_.get(), to.c_str()) == 0; };
  bool done = renamed();
  if (!done && errno == ENOENT) {
    CFFS_TRY(const bool there, exists(from));
    if (!there) return fail(ENOENT, full_name(from));
    CFFS_TRY_VOID(make_folders(to));
    done = renamed();
  }
  if (!done) return fail(errno, full_name(from));
  const MutexLock guard(changed_mutex_);
  changed_folders_.insert(folder_of(from));
  // Its folders may be new, too.
  for (std::string folder = folder_of(to);; folder = folder_of(folder)) {
    changed_folders_.insert(folder);
    if (folder == ".") break;
  }
  return {};
}

Result<bool> PosixStore::exists(std::string_view name) {
  if (::faccessat(root_.get(), std::string(name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return fail(errno, full_name(name));
}

Result<std::vector<std::string>> PosixStore::list(std::string_view folder) {
  std::vector<std::string> found;
  std::vector<std::string> pending{std::string(folder)};
  while (!pending.empty()) {
    const std::string current = std::move(pending.back());
    pending.pop_back();
    FileDescriptor fd = open_file(current.empty() ? "." : current, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!fd && errno == ENOENT) continue;
    if (!fd) return fail(errno, full_name(current));
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd.get()), ::closedir);
    if (!dir) return fail(errno, full_name(current));
    (void)fd.release();  // the stream closes it
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(dir.get());
      if (entry == nullptr && errno != 0) return fail(errno, full_name(current));  // no short list
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      std::string path = current.empty() ? std::string(name) : current + "/" + std::string(name);
      bool is_folder = entry->d_type == DT_DIR;
      if (entry->d_type == DT_UNKNOWN) {
        struct stat st;
        is_folder =
            ::fstatat(root_.get(), path.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
      }
      (is_folder ? pending : found).push_back(std::move(path));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Status PosixStore::sync_names() {
  std::set<std::string> folders;
  {
    const MutexLock guard(changed_mutex_);
    folders.swap(changed_folders_);
  }
  Status result;
  for (const std::string& folder : folders) {
    Status done = sync_folder(folder);
    if (done) continue;
    const MutexLock guard(changed_mutex_);
    changed_folders_.insert(folder);  // for the next call
    if (result) result = std::move(done);
  }
  return result;
}

// The whole file system below: nothing tells what somebody else has written in this store.
Status PosixStore::sync_everything() {
  if (::syncfs(root_.get()) != 0) return fail(errno, path_);
  return {};
}

Result<SpaceInfo> PosixStore::space() {
  struct statvfs v;
  if (::fstatvfs(root_.get(), &v) != 0) return fail(errno, path_);
  return SpaceInfo{v.f_blocks * v.f_frsize, v.f_bfree * v.f_frsize, v.f_bavail * v.f_frsize, v.f_files,
                   v.f_ffree};
}

Result<std::unique_ptr<StoreLock>> PosixStore::lock(std::string_view owner) {
  CFFS_TRY_VOID(writable("lock"));
  FileDescriptor fd(::openat(root_.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) return fail(errno, full_name("lock"));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(errno, full_name("lock"));
    // The text is that of the last one who wrote; those who read leave none.
    if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return fail(EBUSY, kSomebodyReads);
    return fail(EBUSY, holder_of(fd.get()));
  }
  // Overwritten before it is cut: on a full medium the file must not lose the block that it has. The text is for people; a
  // medium without room for it is no reason to refuse.
  const bool written =
      ::pwrite(fd.get(), owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
  if (!written && errno != ENOSPC && errno != EDQUOT) return fail(errno, full_name("lock"));
  if (::ftruncate(fd.get(), written ? static_cast<off_t>(owner.size()) : 0) != 0)
    return fail(errno, full_name("lock"));
  return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(fd)));
}

Result<std::unique_ptr<StoreLock>> PosixStore::lock_for_reading() {
  const int make = access_ == Access::read_write ? O_CREAT : 0;
  FileDescriptor fd = open_file("lock", O_RDONLY | O_CLOEXEC | make);
  // A copy of a store without its lock: nobody has used it, and a look makes none.
  if (!fd && errno == ENOENT)
    return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(FileDescriptor()));
  if (!fd) return fail(errno, full_name("lock"));
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(errno, full_name("lock"));
    return fail(EBUSY, holder_of(fd.get()));
  }
  return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(fd)));
}

}  // namespace cffs
