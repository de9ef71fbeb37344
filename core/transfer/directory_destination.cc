#include "core/transfer/directory_destination.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/fs/acl.h"
#include "core/fs/stat_attributes.h"
#include "core/object/page_cache_io.h"

namespace cffs {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Where nobody has it. What has been linked has the temporary one, too, if it could not be taken away.
Status give_name(int folder, const std::string& temporary, const std::string& name) {
  if (::renameat2(folder, temporary.c_str(), folder, name.c_str(), RENAME_NOREPLACE) == 0) return {};
  const bool cannot_say_so = errno == EINVAL || errno == ENOSYS;  // a file system may not
  if (!cannot_say_so || ::linkat(folder, temporary.c_str(), folder, name.c_str(), 0) != 0) return fail(errno);
  (void)::unlinkat(folder, temporary.c_str(), 0);
  return {};
}

bool write_back(int file) {
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (::sync_file_range(file, 0, 0, kAll) == 0) return true;
  const bool is_unknown = errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL || errno == ESPIPE;
  return is_unknown && ::fdatasync(file) == 0;
}

}  // namespace

Result<std::unique_ptr<DirectoryDestination>> DirectoryDestination::at(const std::string& path, bool make) {
  if (make && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(errno, path);
  FileDescriptor root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail(errno, path);
  return std::unique_ptr<DirectoryDestination>(new DirectoryDestination(path, std::move(root)));
}

DirectoryDestination::DirectoryDestination(std::string path, FileDescriptor root)
    : path_(std::move(path)),
      folders_(path_, std::move(root)),
      mount_(mount_of(folders_.root(), "")),
      privileged_(::geteuid() == 0),
      temporaries_(folders_.root()) {}

// Before Linux 5.8 mounts have no numbers, and file systems alone are told apart.
std::optional<DirectoryDestination::Mount> DirectoryDestination::mount_of(int at, const std::string& name) {
  struct statx st {};
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0);
  if (::statx(at, name.c_str(), flags, STATX_TYPE | STATX_MNT_ID, &st) != 0) return {};
  return Mount{makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_mnt_id};
}

bool DirectoryDestination::is_mounted_in(InodeId directory) {
  const auto at = folders_.open(directory);
  return !at || mount_of((*at)->fd.get(), "") != mount_;
}

std::string DirectoryDestination::shown(const std::string& path) const {
  if (path.empty()) return path_;
  return path_.ends_with('/') ? path_ + path : path_ + "/" + path;
}

std::string DirectoryDestination::shown(InodeId parent, const std::string& name) {
  return shown(folders_.path_of(parent, name));
}

bool DirectoryDestination::is(InodeId directory, dev_t device, ino_t number) {
  const auto at = folders_.open(directory);
  struct stat st {};
  return at && ::fstat((*at)->fd.get(), &st) == 0 && st.st_dev == device && st.st_ino == number;
}

Result<Attributes> DirectoryDestination::look(InodeId directory, const std::string& name) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(directory, name));
  struct stat st {};
  if (::fstatat(at->fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return fail(errno);
  return attributes_of(st);
}

Result<std::string> DirectoryDestination::target(InodeId directory, const std::string& name) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(directory, name));
  std::string link(4096, '\0');
  const ssize_t n = ::readlinkat(at->fd.get(), name.c_str(), link.data(), link.size());
  if (n < 0) return fail(errno);
  link.resize(static_cast<std::size_t>(n));
  return link;
}

Result<ReadAt> DirectoryDestination::open(InodeId directory, const std::string& name) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(directory, name));
  const auto file = std::make_shared<const FileDescriptor>(
      ::openat(at->fd.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!*file) return fail(errno);
  return ReadAt([file](std::uint64_t offset, Bytes out) -> Result<std::size_t> {
    const ssize_t n = read_fully(file->get(), offset, out);
    if (n < 0) return fail(errno);
    return static_cast<std::size_t>(n);
  });
}

Result<std::vector<std::pair<std::string, bool>>> DirectoryDestination::names(InodeId directory) {
  CFFS_TRY(const OpenFolder at, folders_.open(directory));
  FileDescriptor again(::openat(at->fd.get(), ".", kFolder));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(again ? ::fdopendir(again.get()) : nullptr, ::closedir);
  if (!listing) return fail(errno);
  (void)again.release();
  std::vector<std::pair<std::string, bool>> found;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(listing.get());
    if (entry == nullptr && errno != 0) return fail(errno);
    if (entry == nullptr) return found;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_directory = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN) {
      struct stat st {};
      is_directory =
          ::fstatat(at->fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    }
    found.emplace_back(name, is_directory);
  }
}

Result<InodeId> DirectoryDestination::make_directory(InodeId parent, const std::string& name, const Inode&) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, name));
  if (::mkdirat(at->fd.get(), name.c_str(), 0700) != 0) return fail(errno);
  FileDescriptor made(::openat(at->fd.get(), name.c_str(), kFolder));
  if (!made) return fail(errno == ELOOP ? ENOTDIR : errno);
  if (at->gives_acl) {  // it is to have its source's, or none
    (void)::fremovexattr(made.get(), kDefaultAcl.data());
    (void)::fremovexattr(made.get(), kAccessAcl.data());
  }
  return folders_.know_made(parent, name, std::move(made));
}

Result<InodeId> DirectoryDestination::enter(InodeId parent, const std::string& name, bool to_remove) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, name));
  struct stat st {};
  if (::fstatat(at->fd.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return fail(errno);
  if (!S_ISDIR(st.st_mode)) return fail(ENOTDIR);
  if (to_remove && mount_of(at->fd.get(), name) != mount_)
    return fail(EXDEV, "another file system is mounted there");
  const InodeId number = folders_.know(parent, name);
  if (!privileged_ && (st.st_mode & 0700) != 0700 && st.st_uid == ::geteuid()) {
    folders_.open_up(number, at->fd.get(), name, st.st_mode);
  }
  return number;
}

Result<std::uint64_t> DirectoryDestination::begin() { return TransferList::clear(folders_.root()); }

void DirectoryDestination::end_temporaries() { temporaries_.end(); }

bool DirectoryDestination::is_its_own(InodeId directory, const std::string& name) {
  return directory == kRootInode && TransferList::is_one(folders_.root(), name);
}

bool DirectoryDestination::is_temporary(const std::string& name) const {
  return transfer_of(name) == transfer_number();
}

void DirectoryDestination::expect_temporary(InodeId parent, const std::string& name) {
  temporaries_.expect(folders_.path_of(parent, name));
}

void DirectoryDestination::note_temporary(InodeId parent, const std::string& name, const struct stat& st) {
  temporaries_.add(st.st_ino, folders_.path_of(parent, name));
}

void DirectoryDestination::expect_repeats() {
  const MutexLock guard(mutex_);
  repeats_ = true;
}

void DirectoryDestination::note_made(int fd) {
  {
    const MutexLock guard(mutex_);
    if (!repeats_) return;
  }
  struct stat st {};
  if (::fstat(fd, &st) != 0) return;
  const MutexLock guard(mutex_);
  made_.insert(st.st_ino);
}

bool DirectoryDestination::was_made_here(const Attributes& file) const {
  const MutexLock guard(mutex_);
  return made_.contains(static_cast<ino_t>(file.ino.value));
}

// What cannot be set is told, and the file comes all the same: its content is what matters. Where another keeps it, nobody gets its
// owner's rights by set-id bits.
void DirectoryDestination::set_attributes(int at, const std::string& name, const Inode& wanted,
                                          const std::string& path) const {
  const bool is_open = name.empty();
  const char* const file = name.c_str();
  int refused = 0;
  const auto note = [&](int result) { refused = result != 0 && refused == 0 ? errno : refused; };
  const auto own = [&](uid_t uid, gid_t gid) {
    return is_open ? ::fchown(at, uid, gid) : ::fchownat(at, file, uid, gid, AT_SYMLINK_NOFOLLOW);
  };
  // Owners only where we may set them, as tar and cp do.
  struct stat st {};
  note(is_open ? ::fstat(at, &st) : ::fstatat(at, file, &st, AT_SYMLINK_NOFOLLOW));
  const bool owned = st.st_uid == wanted.uid && st.st_gid == wanted.gid;
  bool is_owners = owned;
  if (privileged_ && !owned) {
    is_owners = own(wanted.uid, wanted.gid) == 0;
    note(is_owners ? 0 : -1);
  } else if (!privileged_ && !owned) {
    const bool is_groups = st.st_gid == wanted.gid || own(static_cast<uid_t>(-1), wanted.gid) == 0;
    is_owners = is_groups && st.st_uid == wanted.uid;
  }
  // There is no call for these that takes a descriptor of a folder and a name.
  const std::string by_folder = proc_path_of(at) + "/" + name;
  mode_t wanted_mode = wanted.mode;
  for (const auto& [x, value] : wanted.xattrs) {
    if (is_order_to_mount(x)) {
      tell_order(path + ", attribute " + x);
      continue;
    }
    const int set = is_open ? ::fsetxattr(at, x.c_str(), value.data(), value.size(), 0)
                            : ::lsetxattr(by_folder.c_str(), x.c_str(), value.data(), value.size(), 0);
    if (set == 0) continue;
    tell(Error::os(errno, path + ", attribute " + x).message());
    if (x == kAccessAcl) wanted_mode = mode_without_acl(wanted.mode, value);
  }
  const mode_t mode = wanted_mode & (is_owners || wanted.is_directory() ? 07777u : 01777u);
  const bool change_mode =
      !wanted.is_symlink() && (!owned || (st.st_mode & 07777) != mode || !wanted.xattrs.empty());
  if (change_mode) note(is_open ? ::fchmod(at, mode) : ::fchmodat(at, file, mode, AT_SYMLINK_NOFOLLOW));
  const timespec times[2] = {to_timespec(wanted.atime_ns), to_timespec(wanted.mtime_ns)};
  note(is_open ? ::futimens(at, times) : ::utimensat(at, file, times, AT_SYMLINK_NOFOLLOW));
  if (refused != 0) tell("'" + path + "': owner, mode or times: " + Error::os(refused).message());
}

// With a temporary name where it cannot be without, which is O_EXCL's and nobody else's.
Status DirectoryDestination::make_file(InodeId parent, const std::string& name, const Inode& attributes,
                                       const CopyFile& copy) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, name));
  const int in = at->fd.get();
  std::string temporary;
  FileDescriptor file(::openat(in, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
    for (int again = 0; !file && again < 100; ++again) {
      temporary = temporary_name();
      expect_temporary(parent, temporary);
      file = FileDescriptor(
          ::openat(in, temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file && errno != EEXIST) break;
    }
  }
  if (!file) return fail(errno);
  // Only one without a name is put down before it has it.
  if (struct stat st{}; (!temporary.empty() || is_temporary(name)) && ::fstat(file.get(), &st) == 0) {
    note_temporary(parent, temporary.empty() ? name : temporary, st);
    if (!temporary.empty() && is_temporary(name)) note_temporary(parent, name, st);
  }
  if (at->gives_acl) (void)::fremovexattr(file.get(), kAccessAcl.data());
  std::uint64_t end = 0;
  Status done = copy([&](std::uint64_t offset, std::string_view bytes) {
    end = std::max(end, offset + bytes.size());
    return write_fully(file.get(), offset, as_bytes(bytes)) ? Status() : Status(fail(errno));
  });
  if (done && end < attributes.size && ::ftruncate(file.get(), static_cast<off_t>(attributes.size)) != 0)
    done = fail(errno);
  // Its name shows bytes that are on the medium wherever a power cut could show it before and be believed: in another file's place, and
  // with a length that is no sign of what has arrived. No more is needed of a journal, which has the name behind what it names.
  const bool is_shown_early = is_temporary(name) || end < attributes.size;
  if (done && is_shown_early && !write_back(file.get())) done = fail(errno);
  // Some file systems say only to who closes a file that there was no room for it.
  if (const int again = done ? ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0) : -1;
      again >= 0 && ::close(again) != 0)
    done = fail(errno);
  if (done) set_attributes(file.get(), "", attributes, shown(parent, name));
  if (done && temporary.empty()) {
    if (::linkat(AT_FDCWD, proc_path_of(file.get()).c_str(), in, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      done = fail(errno);
  } else if (done) {
    done = give_name(in, temporary, name);
  }
  if (!done && !temporary.empty()) (void)::unlinkat(in, temporary.c_str(), 0);
  if (done) note_made(file.get());
  return done;
}

Status DirectoryDestination::make_node(InodeId parent, const std::string& name, const Inode& attributes) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, name));
  const int in = at->fd.get();
  if (attributes.is_symlink()) {
    if (is_temporary(name)) expect_temporary(parent, name);
    if (::symlinkat(attributes.target.c_str(), in, name.c_str()) != 0) return fail(errno);
    if (struct stat st{}; is_temporary(name) && ::fstatat(in, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0)
      note_temporary(parent, name, st);
    set_attributes(in, name, attributes, shown(parent, name));
  } else {
    // Whoever is killed leaves none with a mode that is not its own.
    const std::string temporary = temporary_name();
    expect_temporary(parent, temporary);
    if (::mknodat(in, temporary.c_str(), (attributes.mode & S_IFMT) | 0600, attributes.rdev) != 0)
      return fail(errno);
    if (struct stat st{}; ::fstatat(in, temporary.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      note_temporary(parent, temporary, st);
      if (is_temporary(name)) note_temporary(parent, name, st);
    }
    if (at->gives_acl) (void)::lremovexattr((proc_path_of(in) + "/" + temporary).c_str(), kAccessAcl.data());
    set_attributes(in, temporary, attributes, shown(parent, name));
    if (const Status named = give_name(in, temporary, name); !named) {
      (void)::unlinkat(in, temporary.c_str(), 0);
      return named;
    }
  }
  if (const FileDescriptor node(::openat(in, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)); node) {
    note_made(node.get());
  }
  return {};
}

Status DirectoryDestination::make_link(InodeId first_parent, const std::string& first_name, InodeId parent,
                                       const std::string& name) {
  CFFS_TRY(const OpenFolder from, folders_.open_for(first_parent, first_name));
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, name));
  if (struct stat st{};
      is_temporary(name) && ::fstatat(from->fd.get(), first_name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0)
    note_temporary(parent, name, st);
  if (::linkat(from->fd.get(), first_name.c_str(), at->fd.get(), name.c_str(), 0) != 0) return fail(errno);
  return {};
}

Status DirectoryDestination::replace(InodeId parent, const std::string& from, const std::string& to) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, to));
  if (::renameat(at->fd.get(), from.c_str(), at->fd.get(), to.c_str()) != 0) return fail(errno);
  return {};
}

Status DirectoryDestination::remove(InodeId parent, const std::string& name, bool is_directory) {
  CFFS_TRY(const OpenFolder at, folders_.open_for(parent, name));
  if (::unlinkat(at->fd.get(), name.c_str(), is_directory ? AT_REMOVEDIR : 0) != 0) return fail(errno);
  return {};
}

void DirectoryDestination::settle(InodeId parent, const std::string& name, const Inode& attributes) {
  const std::string path = shown(parent, name);
  const auto at = folders_.open_for(parent, name);
  if (!at) return tell("'" + path + "': " + at.error().message());
  set_attributes((*at)->fd.get(), name, attributes, path);
}

void DirectoryDestination::settle_directory(InodeId directory, const Inode& attributes) {
  const std::string path = shown(directory, "");
  const auto at = folders_.open(directory);
  if (!at) return tell("'" + path + "': " + at.error().message());
  set_attributes((*at)->fd.get(), "", attributes, path);
  folders_.settled(directory);
}

Status DirectoryDestination::sync() {
  folders_.close_all_again();
  if (::syncfs(folders_.root()) != 0 || ::fsync(folders_.root()) != 0) return fail(errno, path_);
  return {};
}

}  // namespace cffs
