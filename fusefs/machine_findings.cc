#include "fusefs/machine_findings.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

namespace cffs {
namespace {

constexpr MachineState kGood = MachineState::good, kLacking = MachineState::lacking,
                       kBroken = MachineState::broken;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// What a mount asks the system for (fusefs/serving.cc).
constexpr std::uint64_t kWantedFiles = 65536;
// The caches of a mount with its defaults, when they are full: 32 MiB of the table, 64 Ki inodes that are awake, a million that are
// known, and what is read ahead.
constexpr std::uint64_t kWantedMemory = 512 * kMiB;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

MachineFinding of_device(const MachineFacts& f) {
  MachineFinding found{"fuse", kGood, "the kernel has FUSE and /dev/fuse opens", "", {}};
  if (f.device_error == 0) return found;
  found.state = kBroken;
  found.is = std::string("/dev/fuse: ") + std::strerror(f.device_error);
  found.follows = "nothing can be mounted";
  if (f.in_container) {
    found.mend = {"docker run --device /dev/fuse --cap-add SYS_ADMIN ..."};
  } else if (f.device_error == EACCES || f.device_error == EPERM) {
    found.mend = {"chmod 666 /dev/fuse"};
  } else {
    found.mend = {"modprobe fuse"};
  }
  return found;
}

// Root mounts by mount(2), others through fusermount3.
MachineFinding of_right(const MachineFacts& f) {
  const std::string version = f.fusermount.empty() ? "no fusermount3" : f.fusermount;
  MachineFinding found{"right", kGood, "", "", {}};
  if (f.may_mount) {
    found.is = "this process may mount by itself";
    return found;
  }
  if (f.root) {
    found.state = kBroken;
    found.is = "root without the capability SYS_ADMIN, as in a container";
    found.follows = "mount(2) refuses: nothing can be mounted";
    found.mend = {"docker run --device /dev/fuse --cap-add SYS_ADMIN --security-opt apparmor=unconfined ..."};
    return found;
  }
  found.is = version;
  if (f.fusermount.empty()) {
    found.state = kBroken;
    found.follows = "users other than root cannot mount";
    found.mend = {"apt-get install fuse3"};
  } else if (!f.fusermount_privileged) {
    found.state = kBroken;
    found.is += ", which is not set-user-ID root";
    found.follows = "users other than root cannot mount";
    found.mend = {"chown root " + f.fusermount + " && chmod u+s " + f.fusermount};
  } else {
    found.is += ", set-user-ID root";
  }
  return found;
}

MachineFinding of_fusermount(const MachineFacts& f) {
  MachineFinding found{
      "fusermount", kGood, f.fusermount.empty() ? "there is no fusermount3" : f.fusermount, "", {}};
  if (!f.fusermount.empty()) return found;
  found.state = kLacking;
  found.follows = "root mounts without it; other users need it, and -o auto_unmount does";
  found.mend = {"apt-get install fuse3"};
  return found;
}

MachineFinding of_others(const MachineFacts& f) {
  MachineFinding found{"allow_other", kGood, "", "", {}};
  if (f.user_allow_other.value_or(false)) {
    found.is = "/etc/fuse.conf has user_allow_other";
    return found;
  }
  found.is = f.user_allow_other ? "/etc/fuse.conf has no user_allow_other" : "there is no /etc/fuse.conf";
  if (f.root) {
    found.follows = "a mount made by root is for all users anyway; others' mounts are for themselves";
    return found;
  }
  found.state = kLacking;
  found.follows = "what you mount is for you alone: not for a server that runs as another user, nor for root";
  found.mend = {"echo user_allow_other >>/etc/fuse.conf", "cffs mount -o allow_other STORE MNT"};
  return found;
}

MachineFinding of_ring(const MachineFacts& f) {
  MachineFinding found{"io_uring", kGood, "FUSE over io_uring is switched on", "", {}};
  if (f.ring == KernelRing::absent) {
    found.state = kLacking;
    found.is = "kernel " + f.kernel_release + " has no FUSE over io_uring, which came with Linux 6.14";
    found.follows =
        "requests come by /dev/fuse: two system calls and a switch each, where there might be one";
    found.mend = {f.kernel_at_least(6, 14) ? "a kernel built with CONFIG_FUSE_IO_URING" : "a newer kernel"};
  } else if (f.ring == KernelRing::off) {
    found.state = kLacking;
    found.is = "this kernel has FUSE over io_uring, and it is switched off";
    found.follows =
        "requests come by /dev/fuse: two system calls and a switch each, where there might be one";
    found.mend = {std::string("echo Y >") + kRingParameter,
                  f.fuse_module ? "echo options fuse enable_uring=1 >/etc/modprobe.d/fuse.conf"
                                : "fuse.enable_uring=1 on the kernel's command line keeps it so"};
  }
  if (f.ring != KernelRing::absent &&
      (f.io_uring_disabled >= 2 || (f.io_uring_disabled == 1 && !f.may_mount))) {
    found.state = kLacking;
    found.is +=
        "; io_uring itself is closed: kernel.io_uring_disabled=" + std::to_string(f.io_uring_disabled);
    found.follows =
        "requests come by /dev/fuse: two system calls and a switch each, where there might be one";
    found.mend.emplace_back("sysctl kernel.io_uring_disabled=0");
  }
  return found;
}

// What cffs uses of newer kernels, oldest first.
MachineFinding of_kernel(const MachineFacts& f) {
  MachineFinding found{"kernel", kGood, "Linux " + f.kernel_release, "", {}};
  if (f.kernel_at_least(6, 18)) {
    found.follows =
        "sync(2) reaches stores on block devices, and the kernel forgets inodes when it is asked to";
    return found;
  }
  found.state = kLacking;
  found.follows =
      "before Linux 6.18 sync(2) does not reach a store on a block device (fsync does), and the memory for "
      "inodes that "
      "the kernel has cached is not bounded";
  found.mend = {"a newer kernel"};
  return found;
}

MachineFinding of_passthrough(const MachineFacts& f) {
  MachineFinding found{"passthrough", kGood, "", "", {}};
  found.is = f.kernel_at_least(6, 9)
                 ? "this kernel can pass reads through to a file below (Linux 6.9)"
                 : "this kernel cannot pass reads through to a file below (Linux 6.9 can)";
  found.follows = "nothing: a small file is a part of a composite, so cffs does not use it";
  return found;
}

MachineFinding of_cachestat(const MachineFacts& f) {
  MachineFinding found{"cachestat", kGood, "", "", {}};
  found.is = f.cachestat ? "the kernel tells what of a file is cached (cachestat, Linux 6.5)"
                         : "the kernel does not tell what of a file is cached (cachestat, Linux 6.5 does)";
  found.follows = f.cachestat ? "a cold read is told from a warm one before it is made"
                              : "mounts find out by trying what a read costs";
  return found;
}

MachineFinding of_libfuse(const MachineFacts& f) {
  MachineFinding found{"libfuse", kGood, "libfuse " + f.libfuse, "", {}};
  unsigned major = 0, minor = 0;
  if (std::sscanf(f.libfuse.c_str(), "%u.%u", &major, &minor) == 2 &&
      (major < 3 || (major == 3 && minor < 12))) {
    found.state = kLacking;
    found.follows = "cffs is built for libfuse 3.12 or later";
    found.mend = {"apt-get install --only-upgrade libfuse3-3"};
  } else {
    found.follows = "a newer one would change little: cffs receives and answers requests by itself";
  }
  return found;
}

MachineFinding of_files(const MachineFacts& f) {
  MachineFinding found{
      "open_files", kGood, "a process may have " + std::to_string(f.open_files_hard) + " files open", "", {}};
  if (f.open_files_hard >= kWantedFiles) return found;
  found.state = kLacking;
  found.follows =
      "composites and large files are closed and opened again where many are in use; a mount takes " +
      std::to_string(kWantedFiles) + " if it may";
  found.mend = {"echo '* hard nofile 65536' >/etc/security/limits.d/cffs.conf", "ulimit -Hn 65536"};
  return found;
}

MachineFinding of_locked(const MachineFacts& f) {
  MachineFinding found{"locked_memory", kGood, "", "", {}};
  found.is = f.locked_bytes == std::numeric_limits<std::uint64_t>::max()
                 ? "locked memory has no limit"
                 : "a process may lock " + mebibytes(f.locked_bytes) + " of memory";
  found.follows = "nothing: cffs locks none";
  return found;
}

MachineFinding of_memory(const MachineFacts& f) {
  MachineFinding found{
      "memory",
      kGood,
      mebibytes(f.memory_bytes) + " of memory, " + mebibytes(f.memory_available_bytes) + " available",
      "",
      {}};
  if (f.memory_available_bytes >= kWantedMemory) return found;
  found.state = kLacking;
  found.follows = "a mount of millions of files may take " + mebibytes(kWantedMemory) +
                  " by itself, beside the kernel's cache";
  found.mend = {"cffs mount -o cache_size=8M,awake_inodes=16K,known_inodes=128K STORE MNT"};
  return found;
}

MachineFinding of_helper(const MachineFacts& f) {
  MachineFinding found{"mount_helper", kGood, "mount(8) finds mount.cffs", "", {}};
  if (f.mount_helper) return found;
  found.state = kLacking;
  found.is = "mount(8) finds no mount.cffs";
  found.follows = "mount -t cffs and lines of fstab do not work; cffs mount does";
  found.mend = {"ln -s \"$(command -v cffs)\" /usr/sbin/mount.cffs"};
  return found;
}

MachineFinding of_rados(const MachineFacts& f) {
  MachineFinding found{"librados", kGood, "librados is there", "", {}};
  if (f.rados_library) return found;
  found.is = "librados is not installed";
  found.follows =
      "stores in a Ceph pool cannot be opened; others can. Where you want one: apt-get install librados2";
  return found;
}

}  // namespace

std::vector<MachineFinding> machine_findings(const MachineFacts& facts) {
  std::vector<MachineFinding> found{of_device(facts), of_right(facts)};
  if (facts.may_mount) found.push_back(of_fusermount(facts));  // of others, `right` has said it
  for (const auto& one : {of_others, of_ring, of_kernel, of_passthrough, of_cachestat, of_libfuse, of_files,
                          of_locked, of_memory, of_helper, of_rados})
    found.push_back(one(facts));
  return found;
}

MachineState worst(const std::vector<MachineFinding>& findings) {
  MachineState state = kGood;
  for (const MachineFinding& finding : findings) state = std::max(state, finding.state);
  return state;
}

}  // namespace cffs
