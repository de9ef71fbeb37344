#include "fusefs/store_owner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "fusefs/process_list.h"

namespace cffs {

StoreOwner::StoreOwner(const std::string& store)
    : store_(store),
      lock_(::open((store + "/lock").c_str(), O_RDONLY | O_CLOEXEC)),
      lock_problem_(lock_ ? 0 : errno),
      readers_(find_readers()),
      text_(readers_.empty() ? text_now() : "pid " + std::to_string(readers_.front())) {}

std::string StoreOwner::text_now() const {
  std::string text(256, '\0');
  const ssize_t n = lock_ ? ::pread(lock_.get(), text.data(), text.size(), 0) : 0;
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
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
    if (target_of(link).ends_with("/lock") && ::stat(link.c_str(), &open) == 0 &&
        open.st_dev == lock.st_dev && open.st_ino == lock.st_ino)
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
      if (target_of(of_process(process, "fd/" + fd)) == "/dev/fuse") return true;
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
