#include "fusefs/serving.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/thread.h"
#include "fusefs/connection.h"
#include "fusefs/daemon_log.h"
#include "fusefs/ending_signals.h"
#include "fusefs/follow_notices.h"
#include "fusefs/heap.h"
#include "fusefs/hidden_top.h"
#include "fusefs/kernel_cache.h"
#include "fusefs/live_numbers.h"
#include "fusefs/load_windows.h"
#include "fusefs/machine_facts.h"
#include "fusefs/metrics_server.h"
#include "fusefs/mount_attributes.h"
#include "fusefs/mount_holders.h"
#include "fusefs/mount_table.h"
#include "fusefs/operations.h"
#include "fusefs/outcome.h"
#include "fusefs/raw_requests.h"
#include "fusefs/request_counts.h"
#include "fusefs/request_server.h"
#include "fusefs/selinux.h"
#include "fusefs/served_store.h"
#include "fusefs/service_manager.h"
#include "fusefs/store_owner.h"
#include "fusefs/unasked_pages.h"

namespace cffs {
namespace {

void raise_descriptor_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// What watches the mount, beside it.
struct Watching {
  explicit Watching(ServedStore& store, const DaemonLog& log, const std::atomic<bool>& over_ring)
      : windows(store.fs()),
        requests(&windows),
        numbers(store.fs(), requests, log, over_ring),
        server([this] { return numbers.exposition(); }) {}
  LoadWindows windows;
  RequestCounts requests;
  LiveNumbers numbers;
  MetricsServer server;
};

// What a mount is served with; the session's life is the caller's.
struct Served {
  fuse_session* session;
  MountContext& context;
  const std::string& mount_point;
  unsigned threads;
  Transport transport;
  std::size_t known_inodes;  // that the kernel may cache; 0: any number
  bool fills_cache;          // with what nobody has asked for yet
  RawRequests& raw;
  RequestCounts& requests;
  DaemonLog& log;
};

// Whoever waits for an answer gets an error, also where somebody has the device open in the midst of a notification. Root can do it where
// the kernel's list of connections is not mounted, too; then the mount may be gone. Nothing where it is gone already: others may have its
// number.
void end_answers(const std::string& device, const std::string& mount_point) {
  const auto there = mounted_at(mount_point);
  if (!there || there->device != device || abort_connection(device)) return;
  (void)::umount2(mount_point.c_str(), MNT_FORCE);
}

// As if its process had ended: who waits for an answer, or asks from now on, gets an error from the kernel. The mount stays to be taken
// down: by a connection that was aborted libfuse would take it for gone already.
void sever(fuse_session* session) {
  const FileDescriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (nowhere) (void)::dup3(nowhere.get(), fuse_session_fd(session), O_CLOEXEC);
}

// Until the mount ends, or a signal or a problem ends it. `device`: the mount's, where it can be seen.
Status serve_requests(const Served& served, const std::string& device, Readiness& readiness) {
  RawRequests& raw = served.raw;
  HiddenTop top(served.session, served.context);
  MountContext& context = served.context;
  UnaskedPages unasked(served.session, context.fs);
  if (served.fills_cache) unasked.begin();
  RequestServer* serving = nullptr;
  std::atomic<bool> breaks_off = false;  // nobody serves any more, and nobody has asked for that
  RequestServer::Setup setup;
  setup.session = served.session;
  setup.threads = served.threads;
  setup.transport = served.transport;
  setup.additions.push_back(clearing_privileges());
  setup.intercept = [&raw, &top, &requests = served.requests](const fuse_buf& request) {
    requests.begin(request);
    return top.serve(request) || raw.serve(request);
  };
  setup.log = [&log = served.log](const std::string& line) { log.write(DaemonLog::Level::notice, line); };
  setup.complain = [&log = served.log, &breaks_off](const std::string& line) {
    breaks_off = true;
    log.write(DaemonLog::Level::error, line);
  };
  setup.on_agreed = [&](bool over_ring) {
    context.over_ring = over_ring;
    if (served.transport != Transport::ring || context.below_top) return;
    if (over_ring) {
      readiness.report({});
    } else {
      breaks_off = true;
      serving->stop();
    }
  };
  RequestServer server(std::move(setup));
  serving = &server;
  CFFS_TRY_VOID(server.begin());
  FollowNotices notices(context);
  CFFS_TRY_VOID(notices.begin());
  const auto end_notices = [&notices, &unasked] {
    notices.end();
    unasked.end();
  };
  SignalWatch watch([&] {
    end_notices();
    server.stop();
  });
  if (!context.below_top) CFFS_TRY_VOID(watch.begin());
  KernelCache cache(served.session, context.fs, served.known_inodes);
  CFFS_TRY_VOID(cache.begin());
  Status stepped_down;
  std::atomic<bool> steps = context.below_top;
  std::thread step;  // its first look waits until requests are served
  if (context.below_top) {
    CFFS_TRY(step, make_thread("the thread that mounts the root", [&] {
               stepped_down = top.step_down(served.mount_point);
               steps = false;
               // A signal that came meanwhile has waited: behind the end nobody would have answered this thread's look.
               if (stepped_down) stepped_down = watch.begin();
               if (stepped_down) stepped_down = server.refusal();
               if (stepped_down) {
                 readiness.report({});
               } else {
                 breaks_off = true;
                 server.stop();
               }
             }));
  }
  Status result;
  const int problem = server.run();
  if (problem != 0) result = fail(problem, "/dev/fuse");
  // Who has asked would wait for ever for an answer that nobody gives, and so would whoever tells the kernel something for them.
  if (problem != 0 || breaks_off) {
    end_answers(device, served.mount_point);
    end_notices();
  }
  if (steps || problem != 0 || breaks_off) sever(served.session);
  if (step.joinable()) step.join();
  if (result) result = server.refusal();
  return result ? stepped_down : result;
}

// `leaving` is set when the mount is over.
Status serve_mounted(const Served& served, const MountOptions& options, Readiness& readiness,
                     FileDescriptor& leaving) {
  const auto ours = mounted_at(served.mount_point);
  Status result = set_mount_attributes(served.mount_point, options);
  if (result) result = serve_requests(served, ours ? ours->device : std::string(), readiness);
  leaving = mark_as_leaving();
  if (options.foreground) (void)tell_service_manager("STOPPING=1\nSTATUS=making everything durable");
  // A mount that lives on elsewhere may be gone from here, and another be in its place: that is not ours to take down.
  const auto there = mounted_at(served.mount_point);
  if (!ours || (there && there->device == ours->device)) fuse_session_unmount(served.session);
  return result;
}

// A store that a block device has is mounted as that where the kernel then passes on sync(2) and syncfs(2), which it does for no
// other mount of FUSE's (Linux 6.18). One that is only looked at may be mounted several times, a device only once.
bool mounts_device(const MountOptions& options, const ObjectStore& store) {
  const auto names_source = [](const std::string& option) { return option.starts_with("fsname="); };
  utsname kernel{};
  int major = 0, minor = 0;
  return ::geteuid() == 0 && !options.read_only && !store.block_device().empty() &&
         std::none_of(options.fuse_options.begin(), options.fuse_options.end(), names_source) &&
         ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(6, 18);
}

// fusermount3 lets nobody but root mount for others, unless its configuration does. Who may not open the device has another trouble.
bool is_refused_for_others(const MountOptions& options) {
  return ::geteuid() != 0 && !user_allow_other().value_or(false) &&
         ::faccessat(AT_FDCWD, "/dev/fuse", R_OK | W_OK, AT_EACCESS) == 0 &&
         std::any_of(options.fuse_options.begin(), options.fuse_options.end(),
                     [](const std::string& word) { return word == "allow_other"; });
}

// `as_device` becomes false where the kernel mounts it in another way only.
Result<fuse_session*> mounted_session(const MountOptions& options, ObjectStore& store,
                                      const std::string& store_path, const std::string& mount_point,
                                      MountContext& context, bool& as_device) {
  const fuse_lowlevel_ops ops = fuse_operations();
  for (;; as_device = false) {
    fuse_session* const session =
        new_session(fuse_arguments(options, store_path, store.is_private(), as_device), ops, &context);
    if (session == nullptr) return fail(Error::usage("libfuse refused the mount options"));
    if (as_device) store.lend_device();
    if (fuse_session_mount(session, mount_point.c_str()) == 0) return session;
    fuse_session_destroy(session);
    if (!as_device) {
      if (is_refused_for_others(options)) {
        return fail(
            Error::usage("cannot mount on " + mount_point +
                         " for other users: /etc/fuse.conf lacks the line user_allow_other, which root "
                         "writes; without -o allow_other the mount is yours alone"));
      }
      return fail(Error::usage("cannot mount on " + mount_point +
                               "; is /dev/fuse there, and may you use it? cffs doctor says what lacks"));
    }
    CFFS_TRY_VOID(store.take_device_back());
    context.log("the kernel does not mount " + store.block_device() +
                " as a block device, so sync(2) does not reach the store");
  }
}

Status serve_store(ServedStore& store, const MountOptions& options, const std::string& store_path,
                   const std::string& mount_point, DaemonLog& daemon_log, const ServedStore::Log& log,
                   Readiness& readiness, FileDescriptor& leaving, Outcome& outcome) {
  std::unique_ptr<RequestObserver> observer;
  if (options.make_observer) {
    CFFS_TRY(observer, options.make_observer());
  }
  CFFS_TRY(const std::uint64_t known_inodes, parse_size(options.known_inodes, "--known-inodes"));
  const bool below_top = options.acl && HiddenTop::possible();
  const bool waits_for_ring = options.transport == Transport::ring;
  const auto on_initialised = [&] {
    if (!below_top && !waits_for_ring) readiness.report({});
  };
  MountContext context{store.fs(),
                       store.reorganiser(),
                       store.regroup_jobs(),
                       store.compact_job(),
                       store.scrub_job(),
                       store.backup_job(),
                       store.objects(),
                       on_initialised,
                       log,
                       observer.get(),
                       options.acl,
                       selinux_is_on(),
                       below_top};
  bool as_device = mounts_device(options, store.objects());
  CFFS_TRY(fuse_session* const session,
           mounted_session(options, store.objects(), store_path, mount_point, context, as_device));
  context.session = session;
  context.followed = store.followed();
  RawRequests raw(session, context, as_device);
  std::optional<Watching> watching(std::in_place, store, daemon_log, context.over_ring);
  context.live = &watching->numbers;
  context.windows = &watching->windows;
  Status result;
  if (options.metrics_at) result = watching->server.begin(*options.metrics_at);
  if (result) {
    // A recording has to see what is read.
    const bool fills_cache = options.read_only && observer == nullptr;
    result = serve_mounted({session, context, mount_point, options.threads, options.transport, known_inodes,
                            fills_cache, raw, watching->requests, daemon_log},
                           options, readiness, leaving);
  } else {
    fuse_session_unmount(session);
  }
  watching.reset();
  Status recorded;
  if (observer) {  // now: whoever waits for the store to be free finds the recording there too
    recorded = observer->end(readiness.succeeded());
    observer.reset();
  }
  // Where the mount ended by its unmounting the kernel has the device until that is answered; else nobody should come between.
  if (as_device) (void)store.objects().take_device_back();
  Status closed = store.close();
  outcome.tell(closed);
  for (Status* problem :
       {&closed, &recorded}) {  // the worse one is the mount's end, the others are in the log
    if (*problem) continue;
    if (!result) daemon_log.write(DaemonLog::Level::error, problem->error().message());
    if (result) result = std::move(*problem);
  }
  raw.answer_end();
  fuse_session_destroy(session);
  return result;
}

}  // namespace

std::vector<std::string> fuse_arguments(const MountOptions& options, const std::string& store,
                                        bool is_private, bool as_device) {
  std::vector<std::string> list{"default_permissions"};
  if (as_device) list.emplace_back("blkdev");
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
  // Root mounts its own store as it would mount ext4: for all users, who are checked as there; libfuse's own default is
  // nosuid,nodev, and nobody else. A later word wins.
  if (::geteuid() == 0) {
    if (options.others) list.insert(list.begin(), "allow_other");
    list.insert(list.begin(), is_private ? "suid,dev" : "nosuid,nodev");
  }
  list.emplace_back(options.follow ? "subtype=cffs-follow" : "subtype=cffs");
  if (options.read_only) list.emplace_back("ro");
  if (options.access_times == AccessTimes::never) list.emplace_back("noatime");
  std::vector<std::string> arguments{"cffs"};
  for (const std::string& option : list) {
    arguments.emplace_back("-o");
    arguments.push_back(option);
  }
  return arguments;
}

Status serve(const MountOptions& options, const std::string& store_path, const std::string& mount_point,
             Readiness& readiness) {
  block_ending_signals();
  raise_descriptor_limit();
  keep_large_memory_apart();
  DaemonLog daemon_log(options.foreground, mount_point, store_path);
  const ServedStore::Log log = [&daemon_log](const std::string& line) {
    daemon_log.write(DaemonLog::Level::warning, line);
  };
  const auto awaited = [&readiness] { return readiness.awaited() && !ending_signal_waits(); };
  Outcome outcome;
  FileDescriptor leaving;  // outlives the store
  CFFS_TRY(const auto store, ServedStore::open(store_path, options, log, awaited));
  // A recovery may have taken minutes, and who ended it meanwhile wants no mount any more.
  if (ending_signal_waits()) {
    CFFS_TRY_VOID(store->close());
    return fail(EINTR, "store " + store_path);
  }
  Status result =
      serve_store(*store, options, store_path, mount_point, daemon_log, log, readiness, leaving, outcome);
  if (Status closed = store->close(); !closed && result) result = std::move(closed);
  return result;
}

}  // namespace cffs
