#include "core/backup/directory_place.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <filesystem>

#include "core/backup/former_backup.h"
#include "core/object/store_use.h"

namespace cffs {
namespace {

// No link is followed: who can write to the folder would have any store emptied that it leads to.
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kParentFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr mode_t kOwnersAlone = 0700;  // until it has the mode of what it replaces

tl::unexpected<Error> refused(const std::string& said) { return fail(Error::usage(said)); }

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string who() { return "the backup of " + this_process(); }

// Of a file system that knows no flag of renameat2.
bool is_unknown_flag(int reason) { return reason == EINVAL || reason == ENOSYS || reason == EOPNOTSUPP; }

Result<std::unique_ptr<PosixStore>> store_in(const FileDescriptor& directory, const std::string& path) {
  FileDescriptor own(::fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
  if (!own) return fail(errno, path);
  return PosixStore::of_open_directory(std::move(own), path);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<std::unique_ptr<DirectoryPlace>> DirectoryPlace::open(const std::string& path,
                                                             const std::string& source) {
  std::string wanted = path;
  while (wanted.size() > 1 && wanted.ends_with('/')) wanted.pop_back();
  if (!wanted.starts_with('/') || wanted == "/") return refused(path + " is no place for a backup");
  struct stat st;
  std::array<char, PATH_MAX> real{};
  if (::lstat(wanted.c_str(), &st) == 0 && S_ISLNK(st.st_mode)) {
    if (::realpath(wanted.c_str(), real.data()) == nullptr) {
      return refused(wanted + " is a symbolic link that leads nowhere; name where the backup is to be");
    }
    wanted = real.data();
  }
  const std::string name = wanted.substr(wanted.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") return refused(path + " is no place for a backup");
  std::unique_ptr<DirectoryPlace> place(new DirectoryPlace(folder_of(wanted), name));
  CFFS_TRY_VOID(place->open_folder(source));
  CFFS_TRY_VOID(place->open_fresh());
  CFFS_TRY_VOID(place->recover());
  CFFS_TRY_VOID(place->open_former());
  return place;
}

DirectoryPlace::DirectoryPlace(std::string folder, std::string name)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      path_(folder_ == "/" ? folder_ + name_ : folder_ + "/" + name_),
      unfinished_("." + name_ + ".unfinished"),
      aside_("." + name_ + ".former") {}

DirectoryPlace::~DirectoryPlace() {
  if (!fresh_lock_ || names_changed_) return;
  fresh_.reset();
  std::error_code ignored;  // the next backup clears away what is left
  std::filesystem::remove_all(unfinished(), ignored);
}

// The folder that the place is in, which must not lie in the store itself.
Status DirectoryPlace::open_folder(const std::string& source) {
  folder_fd_ = FileDescriptor(::open(folder_.c_str(), kParentFolder));
  if (!folder_fd_) return fail(errno, folder_ + ", where the backup is to be made");
  struct stat store{};  // no file is like it where the store is no path, in a Ceph pool
  if (::stat(source.c_str(), &store) != 0 && errno != ENOENT) return fail(errno, source);
  struct stat st;
  FileDescriptor at(::openat(folder_fd_.get(), ".", kDirectory));
  for (;;) {
    if (::fstat(at.get(), &st) != 0) return fail(errno, folder_);
    if (same_file(st, store))
      return refused(path_ + " is in the store " + source + "; name a place outside of it");
    FileDescriptor above(::openat(at.get(), "..", kDirectory));
    struct stat higher;
    if (!above || ::fstat(above.get(), &higher) != 0 || same_file(st, higher)) break;
    at = std::move(above);
  }
  if (::fstatat(folder_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return {};
  if (same_file(st, store)) return refused(path_ + " is the store itself; name another place for its backup");
  return {};
}

// An own lock, so of two backups the second one is told. What an earlier one left goes.
Status DirectoryPlace::open_fresh() {
  if (::mkdirat(folder_fd_.get(), unfinished_.c_str(), kOwnersAlone) != 0 && errno != EEXIST) {
    return fail(errno, unfinished());
  }
  fresh_fd_ = FileDescriptor(::openat(folder_fd_.get(), unfinished_.c_str(), kDirectory));
  if (!fresh_fd_ && (errno == ELOOP || errno == ENOTDIR))
    return refused(unfinished() + " is needed for the backup, and is no directory; move it elsewhere");
  if (!fresh_fd_) return fail(errno, unfinished());
  CFFS_TRY(fresh_, store_in(fresh_fd_, unfinished()));
  CFFS_TRY(const auto stranger, stranger_in(*fresh_));
  if (stranger)
    return refused(unfinished() + " is needed for the backup, and holds " + *stranger +
                   "; move that elsewhere");
  auto lock = fresh_->lock(who());
  if (!lock && lock.error().errno_value == EBUSY) {
    return fail(
        Error{ErrorKind::usage, EBUSY, path_ + " is in use by " + lock.error().context + "; wait for that"});
  }
  if (!lock) return fail(lock.error());
  fresh_lock_ = std::move(*lock);
  // It may be a former backup whose new name a power cut forgets.
  if (::fsync(folder_fd_.get()) != 0) return fail(errno, folder_);
  CFFS_TRY(const auto names, fresh_->list(""));
  for (const std::string& name : names) {
    if (name != "lock" && name != "followers") CFFS_TRY_VOID(fresh_->remove(name));
  }
  return {};
}

// Where names cannot be exchanged there are two steps (change_names), and a cut between them left the former one aside.
Status DirectoryPlace::recover() {
  struct stat st;
  const int at = folder_fd_.get();
  const std::string aside = folder_ + "/" + aside_;
  if (::fstatat(at, aside_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? Status() : Status(fail(errno, aside));
  if (::renameat2(at, aside_.c_str(), at, name_.c_str(), RENAME_NOREPLACE) == 0) return {};
  if (errno == EEXIST) return recover_beside_another();
  if (!is_unknown_flag(errno)) return fail(errno, aside);
  if (::fstatat(at, name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return recover_beside_another();
  if (errno != ENOENT) return fail(errno, path_);
  return ::renameat(at, aside_.c_str(), at, name_.c_str()) == 0 ? Status() : Status(fail(errno, aside));
}

// The name has been taken since: by the new backup, or by somebody who made an empty directory for one.
Status DirectoryPlace::recover_beside_another() {
  const int at = folder_fd_.get();
  const std::string aside = folder_ + "/" + aside_;
  if (::unlinkat(at, name_.c_str(), AT_REMOVEDIR) == 0)
    return ::renameat(at, aside_.c_str(), at, name_.c_str()) == 0 ? Status() : Status(fail(errno, aside));
  bool is_backup = false;
  const FileDescriptor there(::openat(at, name_.c_str(), kDirectory));
  if (const auto store = there ? store_in(there, path_) : Result<std::unique_ptr<PosixStore>>(fail(errno))) {
    const auto record = read_backup_record(**store);
    if (!record && record.error().is_shortage()) return fail(record.error());
    is_backup = record && *record;
  }
  if (!is_backup)
    return refused(path_ + " is no backup, and the one that was there before is " + aside +
                   "; move one of them elsewhere");
  // A power cut that forgets the new name must find the former backup.
  if (::fsync(at) != 0) return fail(errno, folder_);
  std::error_code ignored;
  std::filesystem::remove_all(aside, ignored);
  return {};
}

Status DirectoryPlace::open_former() {
  struct stat st, folder;
  if (::fstatat(folder_fd_.get(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status() : Status(fail(errno, path_));
  }
  if (!S_ISDIR(st.st_mode)) return refused(path_ + " is no directory; name one, or a place where nothing is");
  if (::fstat(folder_fd_.get(), &folder) != 0) return fail(errno, folder_);
  if (folder.st_dev != st.st_dev) return refused(path_ + " is a mount point; name a directory in it");
  there_ = st;
  std::error_code problem;
  const bool empty = std::filesystem::is_empty(path_, problem);
  if (problem) return fail(problem.value(), path_);
  if (empty) return {};
  FileDescriptor there(::openat(folder_fd_.get(), name_.c_str(), kDirectory));
  if (!there) return fail(errno, path_);
  CFFS_TRY(former_, store_in(there, path_));
  const auto record = read_backup_record(*former_);
  if (!record && record.error().kind == ErrorKind::os) return fail(record.error());
  if (!record || !*record) return {};  // it is refused, and gets no lock before
  former_fd_ = std::move(there);
  CFFS_TRY(former_lock_, use_alone(*former_, who()));
  return {};
}

Status DirectoryPlace::keep(const std::string& name) {
  const std::string folder = name.substr(0, name.rfind('/'));
  const std::string link = folder + "/.kept";  // in what is a part of a store: a kill may leave it
  if (folders_made_.insert(folder).second) {
    for (std::size_t slash = folder.find('/');; slash = folder.find('/', slash + 1)) {
      if (::mkdirat(fresh_fd_.get(), folder.substr(0, slash).c_str(), kOwnersAlone) != 0 && errno != EEXIST) {
        return fail(errno, unfinished() + "/" + folder);
      }
      if (slash == std::string::npos) break;
    }
  }
  // Under another name first: what was copied of it already is replaced, and never written to.
  if (::linkat(former_fd_.get(), name.c_str(), fresh_fd_.get(), link.c_str(), 0) != 0)
    return fail(errno, path_ + "/" + name);
  if (::renameat(fresh_fd_.get(), link.c_str(), fresh_fd_.get(), name.c_str()) != 0) {
    return fail(errno, unfinished() + "/" + name);
  }
  return {};
}

Status DirectoryPlace::switch_over() {
  if (there_) {
    if (::fchown(fresh_fd_.get(), there_->st_uid, there_->st_gid) != 0 && errno != EPERM)
      return fail(errno, unfinished());
    if (::fchmod(fresh_fd_.get(), there_->st_mode & 07777) != 0) return fail(errno, unfinished());
  }
  CFFS_TRY_VOID(change_names());
  names_changed_ = true;
  if (::fsync(folder_fd_.get()) != 0) return fail(errno, folder_);  // names
  // The lock of what is removed now is held until it is gone, so nobody begins anything there.
  remove_former(unfinished_);
  fresh_lock_.reset();
  return {};
}

Status DirectoryPlace::change_names() {
  const int at = folder_fd_.get();
  const unsigned how = there_ ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(at, unfinished_.c_str(), at, name_.c_str(), how) == 0) return {};
  if (!is_unknown_flag(errno)) return fail(errno, path_);
  if (there_ && ::renameat(at, name_.c_str(), at, aside_.c_str()) != 0) return fail(errno, path_);
  if (::renameat(at, unfinished_.c_str(), at, name_.c_str()) != 0) {
    const int reason = errno;
    (void)::renameat(at, aside_.c_str(), at, name_.c_str());
    return fail(reason, path_);
  }
  // A power cut that forgets the new name must find the former backup.
  if (::fsync(at) != 0) return fail(errno, folder_);
  remove_former(aside_);
  return {};
}

// A directory that was empty when it was looked at may be so no more.
void DirectoryPlace::remove_former(const std::string& called) {
  std::error_code ignored;
  if (former_) {
    std::filesystem::remove_all(folder_ + "/" + called, ignored);
  } else {
    (void)::unlinkat(folder_fd_.get(), called.c_str(), AT_REMOVEDIR);
  }
}

}  // namespace cffs
