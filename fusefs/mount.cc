#include "fusefs/mount.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "core/object/posix_store.h"
#include "core/plan/policy_choice.h"
#include "fusefs/connection.h"
#include "fusefs/hidden_top.h"
#include "fusefs/operations.h"
#include "fusefs/raw_requests.h"
#include "fusefs/request_loop.h"

namespace cffs {
namespace {

Result<std::string> absolute(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (::realpath(path.c_str(), buffer.data()) == nullptr) return fail(errno, path);
  return std::string(buffer.data());
}

struct Mounted {
  std::string source;
  std::string type;
};

// What is mounted exactly here, last one on top; nothing where it is an ordinary directory.
std::optional<Mounted> mounted_at(const std::string& path) {
  std::optional<Mounted> found;
  const std::unique_ptr<FILE, int (*)(FILE*)> table(::setmntent("/proc/self/mounts", "r"), ::endmntent);
  if (!table) return found;
  while (const mntent* entry = ::getmntent(table.get())) {
    if (path == entry->mnt_dir) found = Mounted{entry->mnt_fsname, entry->mnt_type};
  }
  return found;
}

Status check_mount_point(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return fail(errno, "mount point " + path);
  if (!S_ISDIR(st.st_mode)) return fail(ENOTDIR, "mount point " + path);
  if (const auto there = mounted_at(path); there && path != "/") {
    return fail(Error::usage("mount point " + path + " is busy: " + there->source +
                             " is mounted there; unmount it first"));
  }
  return {};
}

void raise_descriptor_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// Tells the waiting parent how it went: an empty message is success.
class Readiness {
 public:
  explicit Readiness(FileDescriptor fd) : fd_(std::move(fd)) {}
  void report(const std::string& problem) {
    if (!fd_) return;
    const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    (void)::dup2(null.get(), STDERR_FILENO);
    const std::string message = problem.empty() ? "ok" : "!" + problem;
    (void)!::write(fd_.get(), message.data(), message.size());
    fd_.reset();
  }

 private:
  FileDescriptor fd_;
};

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, s);
  return signals;
}

// Ends the loop on SIGINT, SIGTERM and SIGHUP. They are blocked before the first thread is made, and taken here.
class SignalWatch {
 public:
  explicit SignalWatch(RequestLoop& loop) : loop_(loop) {
    thread_ = std::thread([this] {
      const sigset_t signals = ending_signals();
      while (!done_.load()) {
        const timespec wait{0, 200'000'000};
        if (::sigtimedwait(&signals, nullptr, &wait) > 0) loop_.stop();
      }
    });
  }
  ~SignalWatch() {
    done_.store(true);
    thread_.join();
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  RequestLoop& loop_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

std::vector<std::string> fuse_arguments(const MountOptions& options, const std::string& store) {
  std::vector<std::string> list{"default_permissions"};
  bool names_source = false;
  for (const std::string& option : options.fuse_options) {
    names_source = names_source || option.starts_with("fsname=");
    list.push_back(option);
  }
  // libfuse splits at commas; a backslash keeps one that belongs to the path.
  if (!names_source) {
    std::string escaped;
    for (const char c : store) {
      if (c == ',' || c == '\\') escaped += '\\';
      escaped += c;
    }
    list.push_back("fsname=" + escaped);
  }
  // Root mounts as it would mount ext4: for all users, who are checked as there; libfuse's own default is
  // nosuid,nodev, and nobody else. A later word wins.
  if (::geteuid() == 0) list.insert(list.begin(), options.others ? "suid,dev,allow_other" : "suid,dev");
  list.emplace_back("subtype=cffs");
  if (options.read_only) list.emplace_back("ro");
  std::vector<std::string> arguments{"cffs"};
  for (const std::string& option : list) {
    arguments.emplace_back("-o");
    arguments.push_back(option);
  }
  return arguments;
}

// The kernel gives a FUSE mount a readahead of 128 KiB at most; a large file then costs eight requests a MiB. Root may
// raise it; nobody else needs to know.
void raise_readahead(const std::string& mount_point) {
  struct stat st;
  if (::stat(mount_point.c_str(), &st) != 0) return;
  const std::string path = "/sys/class/bdi/" + std::to_string(major(st.st_dev)) + ":" +
                           std::to_string(minor(st.st_dev)) + "/read_ahead_kb";
  const FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd) (void)!::write(fd.get(), "1024", 4);
}

Status serve(const MountOptions& options, const std::string& store_path, const std::string& mount_point,
             Readiness& readiness) {
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  raise_descriptor_limit();
  const auto log = [foreground = options.foreground](const std::string& line) {
    if (foreground) {
      std::fprintf(stderr, "cffs: %s\n", line.c_str());
    } else {
      ::syslog(LOG_WARNING, "%s", line.c_str());
    }
  };
  FileSystemOptions fs_options;
  fs_options.commit_interval_ms = static_cast<std::int64_t>(options.commit_interval_s * 1000);
  fs_options.quiet_ms = static_cast<std::int64_t>(options.quiet_s * 1000);
  CFFS_TRY(fs_options.cache_bytes, parse_size(options.cache_size, "--cache-size"));
  fs_options.log = log;
  if (!options.read_only) {
    fs_options.access_times = options.access_times;
    fs_options.directory_access_times = options.directory_access_times;
    CFFS_TRY(fs_options.access_record_bytes, parse_size(options.access_record, "--access-record"));
  }
  RegrouperOptions regrouping;
  if (!options.read_only)
    regrouping.interval_ms = static_cast<std::int64_t>(options.regroup_interval_s * 1000);
  CFFS_TRY(regrouping.bytes_per_second, parse_size(options.regroup_budget, "--regroup-budget"));
  CFFS_TRY(const auto store, PosixStore::open_directory(store_path));
  CFFS_TRY(const auto fs, FileSystem::open(*store, fs_options));
  // Only now is the store ours: a plan given by a file becomes its own.
  auto policy = choose_policy(*store, options.policy);
  if (!policy && policy.error().kind == ErrorKind::corruption) {
    log(policy.error().message() + "; files are grouped by directory until there is a new plan");
    policy = std::shared_ptr<const grouping::Policy>(grouping::make_policy(options.policy.name));
  }
  if (!policy) return fail(policy.error());
  fs->set_policy(std::move(*policy));
  auto regrouper = std::make_unique<Regrouper>(*fs, regrouping);

  std::unique_ptr<RequestObserver> observer;
  if (options.make_observer) {
    CFFS_TRY(observer, options.make_observer());
  }
  const bool below_top = options.acl && HiddenTop::possible();
  const auto on_initialised = [&] {
    if (!below_top) readiness.report({});
  };
  MountContext context{*fs, *regrouper, *store, on_initialised, log, observer.get(), options.acl, below_top};
  const fuse_lowlevel_ops ops = fuse_operations();
  fuse_session* session = new_session(fuse_arguments(options, store_path), ops, &context);
  if (session == nullptr) return fail(Error::usage("libfuse refused the mount options"));
  Status result;
  if (fuse_session_mount(session, mount_point.c_str()) != 0) {
    result =
        fail(Error::usage("cannot mount on " + mount_point + "; is /dev/fuse there, and may you use it?"));
  } else {
    {
      RawRequests raw(session, context);
      const HiddenTop top(session, context);
      RequestLoop loop(session, options.threads, [&raw, &top](const fuse_buf& request) {
        return top.serve(request) || raw.serve(request);
      });
      const SignalWatch watch(loop);
      Status stepped_down;
      std::thread step;  // its first look waits until requests are served
      if (below_top) {
        step = std::thread([&] {
          stepped_down = HiddenTop::step_down(mount_point);
          if (stepped_down) {
            readiness.report({});
          } else {
            loop.stop();
          }
        });
      }
      if (const int problem = loop.run(); problem != 0) result = fail(problem, "/dev/fuse");
      if (step.joinable()) step.join();
      if (result) result = std::move(stepped_down);
    }
    fuse_session_unmount(session);
  }
  fuse_session_destroy(session);
  observer.reset();  // whoever waits for the store to be free finds the recording there too
  regrouper.reset();
  if (Status closed = fs->close(); !closed && result) result = std::move(closed);
  return result;
}

// Who holds a store: the text of its lock.
std::string owner_of(int lock) {
  std::string text(256, '\0');
  const ssize_t n = ::pread(lock, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

Status wait_until_ready(int from_child, const std::string& mount_point) {
  std::string message;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = ::read(from_child, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    message.append(buffer.data(), static_cast<std::size_t>(n));
  }
  if (message.starts_with("!")) return fail(Error::usage(message.substr(1)));
  if (message == "ok") raise_readahead(mount_point);
  if (message != "ok") return fail(Error::usage("the daemon ended before the mount was ready"));
  struct stat st;
  if (::stat(mount_point.c_str(), &st) != 0) return fail(errno, mount_point);
  return {};
}

// mount(2)'s flag for a word, and whether the word sets it.
struct MountFlag {
  const char* word;
  unsigned long flag;
  bool set;
};
constexpr std::array kMountFlags = {
    MountFlag{"nosuid", MS_NOSUID, true},         MountFlag{"suid", MS_NOSUID, false},
    MountFlag{"nodev", MS_NODEV, true},           MountFlag{"dev", MS_NODEV, false},
    MountFlag{"noexec", MS_NOEXEC, true},         MountFlag{"exec", MS_NOEXEC, false},
    MountFlag{"noatime", MS_NOATIME, true},       MountFlag{"atime", MS_NOATIME, false},
    MountFlag{"nodiratime", MS_NODIRATIME, true}, MountFlag{"relatime", MS_NOATIME, false},
    MountFlag{"relatime", MS_RELATIME, true},     MountFlag{"norelatime", MS_RELATIME, false},
    MountFlag{"strictatime", MS_NOATIME, false},  MountFlag{"strictatime", MS_STRICTATIME, true},
    MountFlag{"sync", MS_SYNCHRONOUS, true},      MountFlag{"async", MS_SYNCHRONOUS, false},
    MountFlag{"dirsync", MS_DIRSYNC, true}};

Status remount(const MountOptions& options) {
  CFFS_TRY(const std::string mount_point, absolute(options.mount_point));
  const auto there = mounted_at(mount_point);
  if (!there || there->type != "fuse.cffs") {
    return fail(Error::usage(mount_point + " is not a cffs mount, so it cannot be remounted"));
  }
  unsigned long flags = MS_REMOUNT;
  if (options.read_only) flags |= MS_RDONLY;
  for (const std::string& word : options.fuse_options) {
    for (const MountFlag& known : kMountFlags) {
      if (word == known.word) flags = known.set ? flags | known.flag : flags & ~known.flag;
    }
  }
  if (::mount(there->source.c_str(), mount_point.c_str(), there->type.c_str(), flags, "") != 0) {
    return fail(errno, mount_point);
  }
  return {};
}

}  // namespace

Status mount_store(const MountOptions& options) {
  if (options.remount) return remount(options);
  CFFS_TRY_VOID(check_choice(options.policy));
  struct stat st;
  if (::stat(options.store.c_str(), &st) != 0) return fail(errno, "store " + options.store);
  if (!S_ISDIR(st.st_mode)) return fail(ENOTDIR, "store " + options.store);
  CFFS_TRY(const std::string store, absolute(options.store));
  CFFS_TRY(const std::string mount_point, absolute(options.mount_point));
  CFFS_TRY_VOID(check_mount_point(mount_point));
  if (store.starts_with(mount_point + "/") || store == mount_point) {
    return fail(Error::usage("the store " + store + " lies below the mount point " + mount_point +
                             "; choose another"));
  }

  MountOptions absolute_options = options;
  if (!options.policy.plan.empty()) {  // a daemon's working directory is the root
    CFFS_TRY(absolute_options.policy.plan, absolute(options.policy.plan));
  }

  if (options.foreground) {
    Readiness nobody{FileDescriptor()};
    return serve(options, store, mount_point, nobody);
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  FileDescriptor from_child(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid > 0) {
    to_parent.reset();
    return wait_until_ready(from_child.get(), mount_point);
  }
  from_child.reset();
  (void)::setsid();
  (void)::chdir("/");
  const FileDescriptor null(::open("/dev/null", O_RDWR));
  // stderr stays until the mount is ready: libfuse explains there why it refuses an option.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) (void)::dup2(null.get(), fd);
  ::openlog("cffs", LOG_PID, LOG_DAEMON);
  Readiness readiness(std::move(to_parent));
  const Status done = serve(absolute_options, store, mount_point, readiness);
  if (!done) {
    readiness.report(done.error().message());
    ::syslog(LOG_ERR, "%s: %s", mount_point.c_str(), done.error().message().c_str());
  }
  ::_exit(done ? 0 : 1);
}

Status unmount(const std::string& mount_point_given) {
  // The mount may be wedged, so the path is not resolved through it.
  auto resolved = absolute(mount_point_given);
  const std::string mount_point = resolved ? *resolved : mount_point_given;
  const auto there = mounted_at(mount_point);
  if (!there || there->type != "fuse.cffs") {
    return fail(Error::usage(mount_point + " is not a cffs mount; see /proc/self/mounts"));
  }
  const FileDescriptor lock(::open((there->source + "/lock").c_str(), O_RDONLY | O_CLOEXEC));
  const std::string owner = lock ? owner_of(lock.get()) : std::string();
  if (::geteuid() == 0) {
    if (::umount2(mount_point.c_str(), 0) != 0) {
      const int problem = errno;
      if (problem == EBUSY) {
        return fail(EBUSY, mount_point + " is in use; `fuser -vm " + mount_point + "` shows by whom");
      }
      return fail(problem, mount_point);
    }
  } else {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execlp("fusermount3", "fusermount3", "-u", mount_point.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    int status = 0;
    if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return fail(errno, "fusermount3");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return fail(Error::usage("fusermount3 could not unmount " + mount_point));
    }
  }
  // The kernel lets go at once; the daemon still commits. When it is done, the store's lock is free, or somebody else's.
  while (lock && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && owner_of(lock.get()) == owner) {
    ::usleep(5'000);
  }
  return {};
}

std::string fuse_library_version() { return ::fuse_pkgversion(); }

}  // namespace cffs
