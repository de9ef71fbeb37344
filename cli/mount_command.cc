#include <filesystem>

#include "cli/commands.h"
#include "cli/mount_recorder.h"
#include "fusefs/mount.h"
#include "fusefs/unmount.h"

namespace cffs::cli {
namespace {

Status choose_transport(const std::string& name, MountOptions& options) {
  CFFS_TRY(options.transport, transport_of(name, "--transport"));
  return {};
}

}  // namespace

void add_mount(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("mount", "Mount a store; returns when the mount answers");
  struct Options {
    MountOptions mount;
    std::vector<std::string> lists;
    std::string record, transport;
  };
  auto o = std::make_shared<Options>();
  command->add_option("STORE", o->mount.store, "A store, as cffs format made it")->required();
  command->add_option("MNT", o->mount.mount_point, "Directory to mount on")->required();
  command->add_flag("--foreign-owner", o->mount.foreign_owner,
                    "The store may belong to another user, who is trusted with what is in it");
  command->add_flag(
      "--standby", o->mount.standby,
      "Where somebody has the store, wait until he has let go of it, or is gone, and take over");
  command->add_flag("--follow", o->mount.follow,
                    "Read-only, beside whoever writes to the store: shows each of its checkpoints in turn");
  command
      ->add_option("--keep", o->mount.keep_s,
                   "Seconds for which what an earlier checkpoint needs stays there for mounts that follow")
      ->check(between(0.01, 86400.0))
      ->capture_default_str();
  add_policy_flags(*command, o->mount.policy);
  add_plan_ahead_flag(*command, o->mount.plan_ahead);
  command
      ->add_option("--regroup-interval", o->mount.regroup_interval_s,
                   "Policy frequency: seconds between minings of the mount's own accesses; 0: never")
      ->check(between(0.0, 366 * 86400.0))
      ->capture_default_str();
  command
      ->add_option("--regroup-budget", o->mount.regroup_budget,
                   "Bytes a second that it then copies; auto: a tenth of what the disk moves; 0: no limit")
      ->capture_default_str();
  command
      ->add_option("--access-record", o->mount.access_record,
                   "Memory of accesses kept in the store; 0: none is kept")
      ->capture_default_str();
  command
      ->add_option("--commit-interval", o->mount.commit_interval_s, "Seconds between commits to the medium")
      ->check(between(0.01, 86400.0))
      ->capture_default_str();
  command->add_option("--quiet", o->mount.quiet_s, "Seconds without change before a file joins a composite")
      ->check(between(0.01, 86400.0))
      ->capture_default_str();
  command
      ->add_option(
          "--cache-size", o->mount.cache_size,
          "Memory for blocks of the table; auto: 32M, less where less than 1G of memory is to be had")
      ->capture_default_str();
  command->add_option("--local-cache", o->mount.local_cache,
                      "DIR:SIZE: of a store in a pool, what was read is kept in a directory of this machine");
  command
      ->add_option(
          "--awake-inodes", o->mount.awake_inodes,
          "Cached inodes that are kept whole, 600 bytes each; the others cost 64, and a look at the table; "
          "auto: 64K, less where less than 1G of memory is to be had")
      ->capture_default_str();
  command
      ->add_option("--known-inodes", o->mount.known_inodes,
                   "Inodes that the kernel may cache; beyond that it is asked to forget some (Linux 6.18); "
                   "0: no bound")
      ->capture_default_str();
  command->add_option("--threads", o->mount.threads, "Most requests served at a time")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command
      ->add_option(
          "--transport", o->transport,
          "How requests come from the kernel: over io_uring (ring), by reading /dev/fuse (device), or "
          "the ring where it is to be had (auto)")
      ->check(CLI::IsMember({"auto", "ring", "device"}))
      ->default_str("auto");
  command->add_option(
      "--metrics", o->mount.metrics,
      "Tell numbers to Prometheus: 127.0.0.1:PORT, [::1]:PORT or unix:PATH, of this host alone");
  command->add_option("--record", o->record,
                      "Record the mount's requests as a trace in this file, until it is unmounted");
  command->add_flag("-f,--foreground", o->mount.foreground, "Stay in the foreground, log to stderr");
  command
      ->add_option("-o", o->lists,
                   "Mount options, comma-separated: ro, follow, follow=, keep=, allow_other, noallow_other, "
                   "foreign_owner, standby, noacl, "
                   "relatime, "
                   "strictatime, noatime, "
                   "nodiratime, nosuid, nodev, noexec, nosymfollow, silent, fsname=, "
                   "policy=, plan=, plan_ahead, site_root=, commit_interval=, quiet=, cache_size=, "
                   "local_cache=, awake_inodes=, "
                   "known_inodes=, "
                   "regroup_interval=, "
                   "regroup_budget=, "
                   "access_record=, transport=, metrics=")
      ->allow_extra_args(false);
  command->callback([o, &exit_code] {
    Status done;
    for (const std::string& list : o->lists) {
      if (done) done = apply_option_list(list, o->mount);
    }
    if (done && !o->transport.empty()) done = choose_transport(o->transport, o->mount);
    if (done && !o->record.empty()) {
      // A daemon's working directory is the root.
      const std::string file = std::filesystem::absolute(o->record).string();
      const std::string mount_point = o->mount.mount_point;
      o->mount.make_observer = [file, mount_point] { return MountRecorder::create(file, mount_point); };
    }
    o->mount.say = say;
    if (done) done = mount_store(o->mount);
    if (!done) exit_code = complain(with_mount_points(done.error(), o->mount.store));
  });
}

namespace {

// 0, or what a shell expects of a command that a signal ended.
Result<int> run_umount(UnmountOptions options) {
  options.say = say;
  CFFS_TRY(const UnmountEnd end, unmount(options));
  if (!end.problem.empty()) return fail(Error::usage(end.problem));
  if (end.signal == 0) return 0;
  std::fprintf(stderr, "cffs: the mount is gone here; store %s is still in use by %s\n", end.store.c_str(),
               end.owner.c_str());
  return 128 + end.signal;
}

}  // namespace

void add_umount(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("umount", "Unmount; returns when everything is on the medium and the store free");
  auto options = std::make_shared<UnmountOptions>();
  command->add_option("MNT", options->path, "Mount point; with --force also a store")->required();
  command->add_flag("--force", options->force,
                    "Unmount although it is in use, and end the daemon although others hold the mount: "
                    "everything is made durable, they get errors");
  command->footer(
      "Where it must wait for others that hold the mount (containers, bind mounts), it says who, and Ctrl-C "
      "ends "
      "the waiting (status 130). Where the daemon could not bring everything to the medium, or was killed "
      "before it had, it says so (status 1).");
  command->callback([options, &exit_code] {
    const auto done = run_umount(*options);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
