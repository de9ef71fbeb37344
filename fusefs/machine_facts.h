// What a machine has of the things that a mount stands on, as cffs doctor asks for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fusefs/kernel_ring.h"

namespace cffs {

struct MachineFacts {
  std::string kernel_release;  // "6.18.1-amd64"
  unsigned kernel_major = 0, kernel_minor = 0;
  std::string libfuse;      // "3.14.0"
  bool fuse_known = false;  // the kernel has FUSE, built in or loaded
  int device_error = 0;     // of opening /dev/fuse for reading and writing; 0: it opens
  bool root = false;        // effective user 0
  bool may_mount = false;   // CAP_SYS_ADMIN: mount(2) itself
  bool in_container = false;
  std::string fusermount;                // its path; empty: there is none
  bool fusermount_privileged = false;    // set-user-ID, or with capabilities of its own
  std::optional<bool> user_allow_other;  // see below
  KernelRing ring = KernelRing::absent;
  bool fuse_module = true;         // else FUSE is built into the kernel
  unsigned io_uring_disabled = 0;  // sysctl kernel.io_uring_disabled: 0 for nobody, 1 for some, 2 for all
  bool cachestat = false;          // the system call is there
  std::uint64_t open_files = 0, open_files_hard = 0;  // RLIMIT_NOFILE
  std::uint64_t locked_bytes = 0;                     // RLIMIT_MEMLOCK; the largest number: no limit
  std::uint64_t memory_bytes = 0, memory_available_bytes = 0;
  bool mount_helper = false;   // mount(8) finds mount.cffs
  bool rados_library = false;  // librados can be loaded
  unsigned processors = 1;

  bool kernel_at_least(unsigned major, unsigned minor) const {
    return kernel_major > major || (kernel_major == major && kernel_minor >= minor);
  }
};

// Whether /etc/fuse.conf has this word, which lets others than root mount for all users; nothing: there is no such file.
std::optional<bool> user_allow_other();

// Asks this machine, as this process sees it; changes nothing.
MachineFacts machine_facts();

}  // namespace cffs
