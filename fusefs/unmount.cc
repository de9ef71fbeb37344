#include "fusefs/unmount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <vector>

#include "core/backend/store_at.h"
#include "fusefs/ending_signals.h"
#include "fusefs/mount_daemon.h"
#include "fusefs/mount_holders.h"
#include "fusefs/mount_point.h"
#include "fusefs/mount_table.h"
#include "fusefs/outcome.h"
#include "fusefs/store_owner.h"

namespace cffs {
namespace {

constexpr std::chrono::seconds kSilence{3};  // a commit takes less, mostly
// For users that nobody sees: they are gone when one looks, as who just ended or asked for a status, or the kernel lets go late.
constexpr std::chrono::seconds kPatience{2};
constexpr std::chrono::milliseconds kBetweenTries{20};

// Holds back the signals that end a wait, so that they can be taken; those that are ignored stay so. Once one came they stay held: what is
// said then is said also to who presses Ctrl-C twice.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now;
      if (::sigaction(s, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&held_, s);
    }
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() {
    if (!came_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The signal that came within this time; 0: none.
  int wait(std::chrono::milliseconds time) {
    const timespec wait{0, std::chrono::nanoseconds(time).count()};
    const int signal = ::sigtimedwait(&held_, nullptr, &wait);
    came_ = came_ || signal > 0;
    return signal > 0 ? signal : 0;
  }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t held_, before_;
  bool came_ = false;
};

Error in_use(const MountEntry& mount, std::vector<std::string> users) {
  constexpr std::size_t kMostNamed = 5;
  if (users.empty()) {
    return Error::usage(mount.point + " is in use, by nobody that can be seen from here; `fuser -vm " +
                        mount.point + "` may know more");
  }
  const std::size_t all = users.size();
  users.resize(std::min(all, kMostNamed));
  return Error::usage(fmt::format("{} is in use by {}{}", mount.point, fmt::join(users, ", "),
                                  all > kMostNamed ? fmt::format(" and {} more", all - kMostNamed) : ""));
}

// For `force`: what was changed through mapped files goes to the daemon before it ends. In a process of its own, because
// where the daemon is wedged it takes for ever.
Status write_mapped_pages(const std::string& mount_point, HeldSignals& signals) {
  constexpr int kMostTries = 100;
  constexpr std::chrono::milliseconds kTry{50};
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid == 0) {
    const int fd = ::open(mount_point.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::_exit(fd >= 0 && ::syncfs(fd) == 0 ? 0 : 1);
  }
  for (int i = 0; i < kMostTries; ++i) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) return {};
    if (signals.wait(kTry) == 0) continue;
    (void)::kill(pid, SIGKILL);
    return fail(EINTR, mount_point + " is still mounted");
  }
  (void)::kill(pid, SIGKILL);
  return {};
}

std::string user_text(std::uint32_t user) {
  const passwd* const known = ::getpwuid(user);
  return known != nullptr ? std::string("user ") + known->pw_name : fmt::format("user {}", user);
}

// False: fusermount3 refused; unless it is to be quiet, it has said why.
Result<bool> detach_by_fusermount(const MountEntry& mount, bool force, bool quiet,
                                  const HeldSignals& signals) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pthread_sigmask(SIG_SETMASK, &signals.before(), nullptr);
    std::vector<const char*> words{"fusermount3", force ? "-uz" : "-u", mount.point.c_str(), nullptr};
    if (quiet) {  // of what it finds wrong before, -q does not keep all back
      words.insert(words.begin() + 1, "-q");
      const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (null >= 0) (void)::dup2(null, STDERR_FILENO);
    }
    ::execvp(words[0], const_cast<char**>(words.data()));
    ::_exit(127);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return fail(errno, "fusermount3");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// False: it is in use, or as an unprivileged user: it may be.
Result<bool> detach_once(const MountEntry& mount, bool force, bool quiet, const HeldSignals& signals) {
  if (::geteuid() != 0) return detach_by_fusermount(mount, force, quiet, signals);
  if (::umount2(mount.point.c_str(), force ? MNT_DETACH : 0) == 0) return true;
  if (errno == EBUSY) return false;
  return fail(errno, mount.point);
}

Status detach(const MountEntry& mount, bool force, HeldSignals& signals) {
  using SteadyClock = std::chrono::steady_clock;
  if (::geteuid() != 0 && mount.user && *mount.user != ::geteuid())
    return fail(Error::usage(fmt::format("{} was mounted by {}: only who did, or root, can unmount it",
                                         mount.point, user_text(*mount.user))));
  const auto end = SteadyClock::now() + kPatience;
  for (bool last = false;; last = SteadyClock::now() >= end) {
    CFFS_TRY(const bool done, detach_once(mount, force, /*quiet=*/!last, signals));
    if (done) return {};
    if (auto users = users_of(mount); !users.empty()) return fail(in_use(mount, std::move(users)));
    if (last && ::geteuid() != 0) return fail(Error::usage("fusermount3 could not unmount " + mount.point));
    if (last) return fail(in_use(mount, {}));
    if (signals.wait(kBetweenTries) != 0) return fail(EINTR, mount.point + " is still mounted");
  }
}

// Who is waited for: whoever has the store's lock; and the daemon itself where it has not the lock of what is at the store's path by
// now. The store was moved or removed then, or the mount names something else.
class Holder {
 public:
  Holder(const std::string& store, pid_t daemon)
      : owner_(store), daemon_(daemon), strays_(daemon != 0 && !owner_.is_open_in(daemon)) {}

  StoreOwner& owner() { return owner_; }
  const RunningDaemon& daemon() const { return daemon_; }
  // Whether the store's path does not lead to what the daemon has.
  bool strays() const { return strays_; }
  bool holds() const { return strays_ ? daemon_.runs() : owner_.holds(); }
  pid_t process() const { return strays_ ? daemon_.process() : owner_.process(); }
  std::string text() const { return strays_ ? "pid " + std::to_string(daemon_.process()) : owner_.text(); }
  Status end(bool all) { return strays_ ? daemon_.end() : owner_.end(all); }

 private:
  StoreOwner owner_;
  const RunningDaemon daemon_;
  const bool strays_;
};

// Where the mount that is gone from here goes on.
std::vector<std::string> reasons_to_wait(const std::optional<MountEntry>& mount, const Holder& holder) {
  const std::string daemon = "its daemon, " + holder.text() + ", which has not ended yet";
  if (!mount || mount_is_over(holder.process()).value_or(false)) return {daemon};
  std::vector<std::string> reasons = holders_of(*mount, holder.process());
  if (!reasons.empty()) return reasons;
  if (connection_of(mount->device) == Connection::lives)
    return {"nobody that can be seen from here: a container's processes, or a namespace kept by name"};
  return {daemon};
}

// Until the daemon has let go of the store. Tells after a while who holds it, and again when that changes.
int wait_until_free(const Holder& holder, const std::optional<MountEntry>& mount, HeldSignals& signals,
                    const std::function<void(const std::vector<std::string>&)>& tell) {
  using SteadyClock = std::chrono::steady_clock;
  auto look = SteadyClock::now() + kSilence;
  std::vector<std::string> told;
  while (holder.holds()) {
    if (const int signal = signals.wait(std::chrono::milliseconds(5)); signal != 0) return signal;
    if (SteadyClock::now() < look) continue;
    std::vector<std::string> reasons = reasons_to_wait(mount, holder);
    if (reasons != told) tell(reasons);
    told = std::move(reasons);
    look = SteadyClock::now() + kSilence;
  }
  return 0;
}

// Why what was acknowledged may not be on the medium; empty: it is, or that cannot be seen from here. The lock is free already, which is the
// last but one of what the daemon does. `signal`: the one that ended the waiting for the last.
std::string problem_of(const RunningDaemon& daemon, const SeenOutcome& seen, const std::string& store,
                       HeldSignals& signals, int& signal) {
  if (!seen.is_known()) return {};
  auto outcome = seen.outcome();
  for (bool runs = true; !outcome && runs; outcome = seen.outcome()) {
    runs = daemon.runs();
    if (runs) signal = signals.wait(std::chrono::milliseconds(5));
    if (signal != 0) return {};
  }
  const std::string lost = "; what was written since its last commit may be lost";
  if (!outcome)
    return fmt::format("the daemon of store {} ended before all was on the medium{}", store, lost);
  if (!*outcome) return fmt::format("not all came to the medium: {}{}", outcome->error().message(), lost);
  return {};
}

// What `unmount` works on: a mount, or with force a store whose mount is gone from here.
struct Goal {
  std::optional<MountEntry> mount;
  std::string store;
};

Result<Goal> goal_of(const UnmountOptions& options) {
  // The mount may be wedged; then the path is taken as it was given.
  const auto resolved = absolute(options.path);
  const std::string path = resolved ? *resolved : options.path;
  const auto there = mounted_at(path);
  if (there && there->is_cffs()) return Goal{there, there->source};
  const bool is_store = is_store_at(path);
  if (options.force && is_store) return Goal{{}, path};
  if (is_store) {
    return fail(Error::usage(path +
                             " is a store, not a cffs mount; name its mount point, or with --force the "
                             "store"));
  }
  return fail(Error::usage(path + " is not a cffs mount; those that are: cffs list"));
}

}  // namespace

Result<UnmountEnd> unmount(const UnmountOptions& options) {
  CFFS_TRY(const Goal goal, goal_of(options));
  HeldSignals signals;
  const auto wait = [&signals](std::chrono::milliseconds time) { return signals.wait(time) == 0; };
  Holder holder(goal.store, goal.mount ? daemon_of(*goal.mount, wait) : 0);
  if (options.force && holder.owner().problem() == EACCES) return fail(EACCES, goal.store + "/lock");
  if (options.force && holder.owner().problem() != 0 && !holder.strays()) {
    return fail(Error::usage(goal.store +
                             " is a name given by fsname=, not the store's path; name the store: "
                             "cffs umount --force STORE"));
  }
  const RunningDaemon daemon(holder.daemon().process() != 0 ? holder.daemon().process() : holder.process());
  const SeenOutcome seen(holder.owner().only_reads() ? 0 : daemon.process());
  if (goal.mount) {
    if (options.force) CFFS_TRY_VOID(write_mapped_pages(goal.mount->point, signals));
    CFFS_TRY_VOID(detach(*goal.mount, options.force, signals));
  }
  // Whoever has the store is another daemon, and this one has nothing to make durable.
  if (goal.mount && goal.mount->follows()) {
    wait_for_end(holder.daemon(), wait);
    return UnmountEnd{0, {}, goal.store, holder.text()};
  }
  if (options.force) CFFS_TRY_VOID(holder.end(/*all=*/!goal.mount));
  const auto tell = [&](const std::vector<std::string>& reasons) {
    options.say(fmt::format("store {} stays in use, by:", goal.store));
    for (const std::string& reason : reasons) options.say("  " + reason);
    options.say(options.force
                    ? "waiting; Ctrl-C ends the waiting"
                    : fmt::format("waiting until that ends; Ctrl-C ends the waiting, `cffs umount --force "
                                  "{}` the mount everywhere",
                                  goal.store));
  };
  // The kernel lets go at once; the daemon still commits. When it is done, the store's lock is free, or somebody else's.
  UnmountEnd end{wait_until_free(holder, goal.mount, signals, tell), {}, goal.store, holder.text()};
  if (end.signal == 0) end.problem = problem_of(daemon, seen, goal.store, signals, end.signal);
  return end;
}

}  // namespace cffs
