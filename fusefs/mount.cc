#include "fusefs/mount.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <utility>

#include "core/backend/store_at.h"
#include "core/base/printable.h"
#include "core/plan/policy_choice.h"
#include "core/rados/address.h"
#include "fusefs/connection.h"
#include "fusefs/mount_point.h"
#include "fusefs/nested_places.h"
#include "fusefs/process_list.h"
#include "fusefs/readiness.h"
#include "fusefs/remount.h"
#include "fusefs/serving.h"

namespace cffs {
namespace {

// A directory, or the image or device of a region store.
Result<std::string> store_place(const std::string& path) {
  if (RadosAddress::is_one(path)) {
    CFFS_TRY(RadosAddress address, RadosAddress::parse(path));
    if (!address.conf.empty()) {  // the daemon's working directory is the root
      CFFS_TRY(address.conf, absolute(address.conf));
    }
    return address.text();
  }
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return fail(errno, "store " + path);
  if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
    return fail(ENOTDIR, "store " + path);
  return absolute(path);
}

// What the daemon got from whoever mounts: files, pipes and locks of theirs, which would be in use for as long as the mount is.
void close_inherited(int kept) {
  for (const std::string& name : names_in("/proc/self/fd")) {
    int fd = -1;
    (void)std::from_chars(name.data(), name.data() + name.size(), fd);
    if (fd > STDERR_FILENO && fd != kept) (void)::close(fd);
  }
}

// The life of the daemon, in the forked process.
[[noreturn]] void be_daemon(const MountOptions& options, const std::string& store,
                            const std::string& mount_point, FileDescriptor to_parent) {
  (void)::setsid();
  (void)::chdir("/");
  close_inherited(to_parent.get());
  const FileDescriptor null(::open("/dev/null", O_RDWR));
  // stderr stays until the mount is ready: libfuse explains there why it refuses an option.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) (void)::dup2(null.get(), fd);
  ::openlog("cffs", LOG_PID, LOG_DAEMON);
  Readiness readiness(std::move(to_parent));
  const Status done = serve(options, store, mount_point, readiness);
  if (!done) {
    readiness.report(done.error().message(), done.error().errno_value);
    ::syslog(LOG_ERR, "%s: %s", printable(mount_point).c_str(), printable(done.error().message()).c_str());
  }
  ::_exit(done ? 0 : 1);
}

Status start_daemon(const MountOptions& options, const std::string& store, const std::string& mount_point) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  FileDescriptor from_child(ends[0]);
  FileDescriptor to_parent(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid == 0) {
    from_child.reset();
    be_daemon(options, store, mount_point, std::move(to_parent));
  }
  to_parent.reset();
  return wait_until_ready(from_child, mount_point);
}

}  // namespace

Status mount_store(const MountOptions& options) {
  for (const std::string& remark : options.remarks) {
    if (options.say && !options.silent) options.say(remark);
  }
  if (options.remount) return remount(options);
  CFFS_TRY_VOID(check_transport(options.transport));
  // For a person; programs and scripts that mount are not told each time.
  if (const auto remark = transport_remark(options.transport);
      remark && options.say && !options.silent && ::isatty(STDERR_FILENO) == 1)
    options.say(*remark);
  MountOptions checked = options;
  checked.read_only = options.read_only || options.follow;
  if (options.follow && options.standby) {
    return fail(Error::command_line(
        "a mount either follows the store's writer or stands by to take over: follow or standby"));
  }
  if (options.plan_ahead && options.policy.plan.empty())
    return fail(Error::command_line("a plan that is ahead (--plan-ahead) goes with --plan"));
  CFFS_TRY_VOID(check_sizes(checked));
  CFFS_TRY_VOID(check_choice(checked.policy));  // reads the plan; the daemon inherits what was read
  CFFS_TRY(const std::string store, store_place(options.store));
  CFFS_TRY(const std::string mount_point, absolute(options.mount_point));
  CFFS_TRY_VOID(check_mount_point(mount_point));
  if (store.starts_with(mount_point + "/") || store == mount_point) {
    return fail(Error::usage("the store " + store + " lies below the mount point " + mount_point +
                             "; choose another"));
  }
  // It would hide the store's objects, from its own daemon too.
  if (is_store_at(mount_point))
    return fail(Error::usage("mount point " + mount_point + " is a store; choose another"));
  if (const auto hidden = store_around(mount_point)) {
    return fail(
        Error::usage("mount point " + mount_point + " lies in the store " + *hidden + "; choose another"));
  }
  if (!checked.local_cache.empty()) {
    CFFS_TRY(auto place, parse_local_cache(checked.local_cache));
    std::error_code problem;  // the daemon's working directory is the root
    place.directory =
        std::filesystem::weakly_canonical(std::filesystem::absolute(place.directory), problem).string();
    if (problem) return fail(problem.value(), "local cache " + checked.local_cache);
    if (place.directory.starts_with(mount_point + "/") || place.directory == mount_point) {
      return fail(Error::usage("the local cache lies below the mount point " + mount_point +
                               "; choose another directory"));
    }
    checked.local_cache_at = std::move(place);
  }
  if (!checked.metrics.empty()) {
    CFFS_TRY(auto address, parse_metrics_address(checked.metrics));
    if (!address.path.empty()) {  // the daemon's working directory is the root
      std::error_code problem;
      address.path =
          std::filesystem::weakly_canonical(std::filesystem::absolute(address.path), problem).string();
      if (problem) return fail(problem.value(), "--metrics=" + checked.metrics);
      if (address.path.starts_with(mount_point + "/")) {
        return fail(Error::usage("the socket " + address.path + " would lie below the mount point " +
                                 mount_point + "; choose another path"));
      }
    }
    checked.metrics_at = std::move(address);
  }
  // A file that may not become so large is an error of whoever writes, not the end of the mount; nor is a pipe that nobody reads, to which
  // the log goes (-f), or whose reader was ended while the daemon made the mount.
  for (const int signal : {SIGXFSZ, SIGPIPE}) (void)::signal(signal, SIG_IGN);
  if (options.foreground) {
    Readiness readiness(mount_point, "serving " + store + " on " + mount_point);
    return serve(checked, store, mount_point, readiness);
  }
  if (!checked.policy.plan.empty()) {  // the daemon's working directory is the root
    CFFS_TRY(checked.policy.plan, absolute(checked.policy.plan));
  }
  return start_daemon(checked, store, mount_point);
}

std::string fuse_library_version() { return ::fuse_pkgversion(); }

}  // namespace cffs
