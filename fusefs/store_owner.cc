#include "fusefs/store_owner.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "core/rados/address.h"
#include "core/rados/local_mark.h"
#include "core/region/layout.h"
#include "fusefs/mount_table.h"
#include "fusefs/process_list.h"

namespace cffs {
namespace {

constexpr const char* kLeaving = "cffs-leaving";
constexpr const char* kFuseDevice = "/dev/fuse";

bool is_mark(std::string_view target) {
  constexpr std::string_view kMemfd = "/memfd:";
  return target.starts_with(kMemfd) && target.substr(kMemfd.size()).starts_with(kLeaving);
}

// Whether the kernel has given up a process's connection, because no mount of it is left and nothing of it is in use; not to
// be had (nullopt) where we may not take a descriptor of that process (Linux 5.6, the rights of ptrace).
std::optional<bool> is_dead(pid_t process, const std::string& descriptor) {
  const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!handle) return {};
  const FileDescriptor fuse(
      static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), std::atoi(descriptor.c_str()), 0)));
  if (!fuse) return {};
  pollfd state{fuse.get(), 0, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLERR) != 0;
}

// For where the kernel does not tell: whether a process, or we, see a mount of that store.
bool sees_mount(pid_t process, const std::string& store) {
  for (const std::string& list : {of_process(process, "mountinfo"), std::string("/proc/self/mountinfo")}) {
    for (const MountEntry& mount : read_mount_table(list)) {
      if (mount.is_cffs() && !mount.follows() && mount.source == store) return true;
    }
  }
  return false;
}

bool is_directory(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) != 0 || S_ISDIR(st.st_mode);
}

// An image or a device is its own lock; a store in a Ceph pool leaves a mark on this host.
std::string lock_path_of(const std::string& store) {
  if (RadosAddress::is_one(store)) {
    const auto address = RadosAddress::parse(store);
    return address ? local_mark_path(*address) : std::string();
  }
  return is_directory(store) ? store + "/lock" : store;
}

}  // namespace

std::optional<bool> mount_is_over(pid_t process) {
  bool over = false;
  for (const std::string& fd : names_in(of_process(process, "fd"))) {
    const std::string target = target_of(of_process(process, "fd/" + fd));
    if (is_mark(target)) return true;
    if (target != kFuseDevice) continue;
    const auto dead = is_dead(process, fd);
    if (!dead || !*dead) return dead;
    over = true;
  }
  return over;
}

FileDescriptor mark_as_leaving() { return FileDescriptor(::memfd_create(kLeaving, MFD_CLOEXEC)); }

StoreOwner::StoreOwner(const std::string& store)
    : store_(store),
      lock_path_(lock_path_of(store)),
      lock_(::open(lock_path_.c_str(),
                   O_RDONLY | (is_directory(store) ? O_NOFOLLOW : 0) | O_NONBLOCK | O_CLOEXEC)),
      lock_problem_(lock_ ? 0 : errno),
      readers_(find_readers()),
      text_(readers_.empty() ? text_now() : "pid " + std::to_string(readers_.front())) {}

std::string StoreOwner::text_now() const {
  std::string text(256, '\0');
  const off_t at = is_directory(store_) ? 0 : static_cast<off_t>(region::kOwnerOffset);
  const ssize_t n = lock_ ? ::pread(lock_.get(), text.data(), text.size(), at) : 0;
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text.substr(0, text.find('\0'));
}

// By one who may change the store.
bool StoreOwner::is_locked() const {
  if (!lock_) return false;
  if (::flock(lock_.get(), LOCK_SH | LOCK_NB) != 0) return true;
  (void)::flock(lock_.get(), LOCK_UN);
  return false;
}

bool StoreOwner::has_lock_open(pid_t process) const {
  struct stat lock, open;
  if (::fstat(lock_.get(), &lock) != 0) return false;
  for (const std::string& fd : names_in(of_process(process, "fd"))) {
    const std::string link = of_process(process, "fd/" + fd);
    const bool may_be =
        is_directory(store_) ? target_of(link).ends_with("/lock") : target_of(link).starts_with("/");
    if (may_be && ::stat(link.c_str(), &open) == 0 && open.st_dev == lock.st_dev &&
        open.st_ino == lock.st_ino)
      return true;
  }
  return false;
}

// Who has the lock open and serves a mount: not the commands that look, nor we.
std::vector<pid_t> StoreOwner::find_readers() const {
  std::vector<pid_t> readers;
  if (!lock_ || is_locked()) return readers;
  const auto serves = [](pid_t process) {
    for (const std::string& fd : names_in(of_process(process, "fd"))) {
      const std::string target = target_of(of_process(process, "fd/" + fd));
      if (target == kFuseDevice || is_mark(target)) return true;
    }
    return false;
  };
  for (const pid_t process : all_processes()) {
    if (process != ::getpid() && serves(process) && has_lock_open(process)) readers.push_back(process);
  }
  return readers;
}

// Of several read-only mounts of one store, any that ends is the one that was waited for, unless all were asked to.
bool StoreOwner::holds() const {
  if (readers_.empty()) return is_locked() && text_now() == text_;
  const auto has = [&](pid_t reader) { return has_lock_open(reader); };
  return all_asked_ ? std::any_of(readers_.begin(), readers_.end(), has)
                    : std::all_of(readers_.begin(), readers_.end(), has);
}

bool StoreOwner::leaves(pid_t process) const {
  const auto over = mount_is_over(process);
  return over ? *over : !sees_mount(process, store_);
}

StoreOwner::Outlook StoreOwner::outlook() const {
  // Twice: the mark may come while the descriptors are read, and the connection go before it is met.
  const auto leaving = [this](pid_t process) { return leaves(process) || leaves(process); };
  if (!readers_.empty()) {
    const auto stays = [&](pid_t reader) { return !leaving(reader) && has_lock_open(reader); };
    return std::any_of(readers_.begin(), readers_.end(), stays) ? Outlook::stays : Outlook::leaves;
  }
  const pid_t owner = process();
  if (owner == 0) return Outlook::unknown;
  if (leaving(owner)) return Outlook::leaves;
  return process() == owner ? Outlook::stays : Outlook::unknown;  // or it has ended meanwhile
}

pid_t StoreOwner::process() const {
  if (!readers_.empty()) return readers_.size() == 1 ? readers_.front() : 0;
  constexpr std::string_view kBegin = "pid ";
  if (!text_.starts_with(kBegin)) return 0;
  const pid_t process = std::atoi(text_.c_str() + kBegin.size());
  // The number may be another machine's or another pid namespace's: only who has the lock open is meant.
  return process > 0 && has_lock_open(process) ? process : 0;
}

Status StoreOwner::end(bool all) {
  if (readers_.size() > 1) {
    all_asked_ = all;
    for (std::size_t i = 0; all && i < readers_.size(); ++i) {
      if (::kill(readers_[i], SIGTERM) != 0 && errno != ESRCH) {
        return fail(errno, "pid " + std::to_string(readers_[i]) + ", which serves store " + store_);
      }
    }
    return {};
  }
  const pid_t daemon = process();
  if (daemon == 0 || ::kill(daemon, SIGTERM) != 0) {
    const int problem = daemon == 0 ? ESRCH : errno;
    if (!holds()) return {};  // it has ended meanwhile
    return fail(problem,
                "the daemon of store " + store_ + " (" + text_ + ") cannot be told to end from here");
  }
  return {};
}

}  // namespace cffs
