#include "core/object/posix_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "core/base/no_room.h"
#include "core/object/blocking_section.h"
#include "core/object/posix_object.h"

namespace cffs {
namespace {

constexpr const char* kFollowers = "followers";

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

Result<std::unique_ptr<PosixStore>> PosixStore::open_directory(const std::string& directory, Access access,
                                                               Owners wanted) {
  FileDescriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail(errno, directory);
  return of_open_directory(std::move(fd), directory, access, wanted);
}

Result<std::unique_ptr<PosixStore>> PosixStore::of_open_directory(FileDescriptor fd,
                                                                  const std::string& directory, Access access,
                                                                  Owners wanted) {
  CFFS_TRY(StoreOwners owners, look_at_owners(fd.get(), directory));
  if (owners.foreign && wanted == Owners::own) {
    return fail(Error{ErrorKind::usage, EPERM,
                      "store " + directory + " is not yours: " + owners.whose +
                          ", who may have put anything into it; if you trust them, say --foreign-owner"});
  }
  return std::unique_ptr<PosixStore>(new PosixStore(directory, std::move(fd), access, std::move(owners)));
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

// Whether something was closed since the operation failed, with errno, for want of a descriptor.
bool PosixStore::relieve(int attempt) const {
  constexpr int kTries = 16;  // what is closed may be taken by somebody else
  const int reason = errno;
  if (reason != EMFILE && reason != ENFILE) return false;
  bool relieved = false;
  {
    const MutexLock guard(relief_mutex_);
    relieved = relieve_ && relieve_() > 0;
    if (!relieved && !spare_.empty()) {
      spare_.pop_back();
      relieved = true;
    }
  }
  errno = reason;
  return relieved && attempt < kTries;
}

template <typename Operation>
auto PosixStore::with_relief(const Operation& operation) const {
  for (int attempt = 0;; ++attempt) {
    auto done = operation();
    if (done || !relieve(attempt)) return done;
  }
}

FileDescriptor PosixStore::open_below(const std::string& name, int flags) const {
  return with_relief([&] { return beneath_.open(name, flags); });
}

FileDescriptor PosixStore::open_file(const std::string& name, int flags) const {
  if (access_ == Access::read_write) return open_below(name, flags);
  FileDescriptor fd = open_below(name, flags | O_NOATIME);
  if (!fd && errno == EPERM) fd = open_below(name, flags);  // another's file
  return fd;
}

// A file of a store that others can write to is looked at before anything is done to it, so it is not emptied by opening.
Result<FileDescriptor> PosixStore::open_object(const std::string& name, int flags) const {
  const bool empties = checks_files_ && (flags & O_TRUNC) != 0;
  FileDescriptor fd = open_file(name, empties ? flags & ~O_TRUNC : flags);
  if (!fd) return error(name);
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) return error(name);
  if (!S_ISREG(st.st_mode)) {  // a directory, or a device, which gives and takes whatever it likes
    errno = ESPIPE;
    return error(name);
  }
  if (checks_files_) {
    const std::string strange = strange_file(st, owners_);
    if (!strange.empty()) return fail(Error::corruption(full_name(name) + " " + strange));
    if (empties && ::ftruncate(fd.get(), 0) != 0) return error(name);
  }
  return fd;
}

tl::unexpected<Error> PosixStore::error(std::string_view name) const {
  if (errno == ELOOP || errno == EXDEV) {
    return fail(Error::corruption(full_name(name) + " " + kSymbolicLink));
  }
  if (errno == ENXIO || errno == ESPIPE || errno == EISDIR)
    return fail(Error::corruption(full_name(name) + " " + kNoRegularFile));
  return fail(errno, full_name(name));
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
    if (!with_relief([&] { return beneath_.make_folder(folder); }) && errno != EEXIST) return error(folder);
  }
  return {};
}

Result<std::shared_ptr<Object>> PosixStore::create(std::string_view name_view, Create how) {
  const std::string name(name_view);
  CFFS_TRY_VOID(writable(name));
  int flags = O_RDWR | O_CREAT | O_CLOEXEC;
  if (how == Create::exclusive) flags |= O_EXCL;
  if (how == Create::truncate) flags |= O_TRUNC;
  auto fd = open_object(name, flags);
  if (!fd && fd.error().errno_value == ENOENT) {
    CFFS_TRY_VOID(make_folders(name));
    fd = open_object(name, flags);
  }
  if (!fd) return fail(std::move(fd).error());
  return make_posix_object(*this, name, std::move(*fd), durable_names_.came(name));
}

Result<std::shared_ptr<Object>> PosixStore::open(std::string_view name_view) {
  const std::string name(name_view);
  announce_blocking();
  auto opened = open_object(name, (access_ == Access::read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
  // The file system below became read-only, as ext4 does after an error: what is there can still be read.
  if (!opened && opened.error().errno_value == EROFS) opened = open_object(name, O_RDONLY | O_CLOEXEC);
  CFFS_TRY(FileDescriptor fd, std::move(opened));
  // Whoever made it may have closed it, or not synced it yet: a sync through this handle promises its name, too.
  return make_posix_object(*this, name, std::move(fd), durable_names_.newest_beside(name));
}

Status PosixStore::remove(std::string_view name_view) {
  const std::string name(name_view);
  CFFS_TRY_VOID(writable(name));
  if (!with_relief([&] { return beneath_.unlink(name); })) return error(name);
  const MutexLock guard(changed_mutex_);
  changed_folders_.insert(DurableNames::folder_of(name));
  return {};
}

Status PosixStore::rename(std::string_view from_view, std::string_view to_view) {
  const std::string from(from_view);
  const std::string to(to_view);
  CFFS_TRY_VOID(writable(from));
  const auto renamed = [&] { return with_relief([&] { return beneath_.rename(from, to); }); };
  bool done = renamed();
  if (!done && errno == ENOENT) {
    CFFS_TRY(const bool there, exists(from));
    if (!there) return fail(ENOENT, full_name(from));
    CFFS_TRY_VOID(make_folders(to));
    done = renamed();
  }
  if (!done) return error(from);
  const MutexLock guard(changed_mutex_);
  changed_folders_.insert(DurableNames::folder_of(from));
  // Its folders may be new, too.
  for (std::string folder = DurableNames::folder_of(to);; folder = DurableNames::folder_of(folder)) {
    changed_folders_.insert(folder);
    if (folder == ".") break;
  }
  return {};
}

Result<bool> PosixStore::exists(std::string_view name) {
  const std::string wanted(name);
  if (with_relief([&] { return beneath_.exists(wanted); })) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return error(name);
}

Result<std::vector<std::string>> PosixStore::list(std::string_view folder) {
  std::vector<std::string> found;
  std::vector<std::string> pending{std::string(folder)};
  while (!pending.empty()) {
    const std::string current = std::move(pending.back());
    pending.pop_back();
    FileDescriptor fd = open_file(current.empty() ? "." : current, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!fd && errno == ENOENT) continue;
    if (!fd) return error(current);
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
        is_folder = ::fstatat(::dirfd(dir.get()), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISDIR(st.st_mode);
      }
      (is_folder ? pending : found).push_back(std::move(path));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

// One call after the other: who finds nothing changed must not be told so while another makes it durable, or fails to.
Status PosixStore::sync_names() {
  const MutexLock one(sync_names_mutex_);
  std::set<std::string> folders;
  {
    const MutexLock guard(changed_mutex_);
    folders.swap(changed_folders_);
  }
  Status result;
  for (const std::string& folder : folders) {
    Status done = durable_names_.sync(folder);
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
  return SpaceInfo{
      v.f_blocks * v.f_frsize, v.f_bfree * v.f_frsize, v.f_bavail * v.f_frsize, v.f_files, v.f_ffree,
      /*shares_inodes=*/true};
}

Result<std::unique_ptr<StoreLock>> PosixStore::lock(std::string_view owner) {
  CFFS_TRY_VOID(writable("lock"));
  auto opened = open_object("lock", O_RDWR | O_CREAT | O_CLOEXEC);
  if (!opened && opened.error().errno_value == EROFS)
    return fail(EROFS, path_ + " can be read where it is, as with cffs mount -o ro, and nothing else");
  CFFS_TRY(FileDescriptor fd, std::move(opened));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return error("lock");
    // The text is that of the last one who wrote; those who read leave none.
    if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return fail(EBUSY, kSomebodyReads);
    return fail(EBUSY, holder_of(fd.get()));
  }
  // Overwritten before it is cut: on a full medium the file must not lose the block that it has. The text is for people; a
  // medium without room for it is no reason to refuse.
  const bool written =
      ::pwrite(fd.get(), owner.data(), owner.size(), 0) == static_cast<ssize_t>(owner.size());
  if (!written && !is_no_room(errno)) return error("lock");
  struct stat now;
  const off_t wanted = written ? static_cast<off_t>(owner.size()) : 0;
  const bool as_long = ::fstat(fd.get(), &now) == 0 && now.st_size == wanted;
  if (!as_long && ::ftruncate(fd.get(), wanted) != 0 && !is_no_room(errno)) return error("lock");
  // Those who follow lock this one, shared: on a file system that they have mounted read-only, too.
  auto followers = open_object(kFollowers, O_RDONLY | O_CREAT | O_CLOEXEC);
  if (!followers && !is_no_room(followers.error().errno_value)) {
    return fail(std::move(followers).error());
  }
  const MutexLock guard(followers_mutex_);
  followers_ = followers ? std::move(*followers) : FileDescriptor();
  return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(fd)));
}

// Waits for no more than the writer's look at it.
Result<std::unique_ptr<StoreLock>> PosixStore::follow() {
  CFFS_TRY(FileDescriptor fd, open_object(kFollowers, O_RDONLY | O_CLOEXEC));
  while (::flock(fd.get(), LOCK_SH) != 0) {
    if (errno != EINTR) return error(kFollowers);
  }
  return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(fd)));
}

bool PosixStore::followed() {
  const MutexLock guard(followers_mutex_);
  if (!followers_) return false;
  if (::flock(followers_.get(), LOCK_EX | LOCK_NB) != 0) return true;
  (void)::flock(followers_.get(), LOCK_UN);
  return false;
}

Result<std::unique_ptr<StoreLock>> PosixStore::lock_for_reading() {
  const int make = access_ == Access::read_write ? O_CREAT : 0;
  auto fd = open_object("lock", O_RDONLY | O_CLOEXEC | make);
  // A copy of a store without its lock: nobody has used it, and a look makes none.
  if (!fd && fd.error().errno_value == ENOENT)
    return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(FileDescriptor()));
  if (!fd) return fail(std::move(fd).error());
  if (::flock(fd->get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return error("lock");
    return fail(EBUSY, holder_of(fd->get()));
  }
  return std::unique_ptr<StoreLock>(std::make_unique<PosixLock>(std::move(*fd)));
}

}  // namespace cffs
