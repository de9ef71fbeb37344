#include "fusefs/remount.h"

#include <sys/mount.h>
#include <sys/statvfs.h>

#include <array>
#include <utility>

#include "fusefs/mount_point.h"
#include "fusefs/mount_table.h"
#include "fusefs/store_owner.h"

namespace cffs {
namespace {

// mount(2)'s flag for a word, and whether the word sets it.
struct MountFlag {
  const char* word;
  unsigned long flag;
  bool set;
};
constexpr std::array kMountFlags = {MountFlag{"nosuid", MS_NOSUID, true},
                                    MountFlag{"suid", MS_NOSUID, false},
                                    MountFlag{"nodev", MS_NODEV, true},
                                    MountFlag{"dev", MS_NODEV, false},
                                    MountFlag{"noexec", MS_NOEXEC, true},
                                    MountFlag{"exec", MS_NOEXEC, false},
                                    MountFlag{"noatime", MS_NOATIME, true},
                                    MountFlag{"atime", MS_NOATIME, false},
                                    MountFlag{"nodiratime", MS_NODIRATIME, true},
                                    MountFlag{"diratime", MS_NODIRATIME, false},
                                    MountFlag{"relatime", MS_NOATIME, false},
                                    MountFlag{"relatime", MS_STRICTATIME, false},
                                    MountFlag{"relatime", MS_RELATIME, true},
                                    MountFlag{"norelatime", MS_RELATIME, false},
                                    MountFlag{"strictatime", MS_NOATIME, false},
                                    MountFlag{"strictatime", MS_RELATIME, false},
                                    MountFlag{"strictatime", MS_STRICTATIME, true},
                                    MountFlag{"nostrictatime", MS_STRICTATIME, false},
                                    MountFlag{"noatime", MS_STRICTATIME, false},
                                    MountFlag{"noatime", MS_RELATIME, false},
                                    MountFlag{"nosymfollow", MS_NOSYMFOLLOW, true},
                                    MountFlag{"symfollow", MS_NOSYMFOLLOW, false},
                                    MountFlag{"sync", MS_SYNCHRONOUS, true},
                                    MountFlag{"async", MS_SYNCHRONOUS, false},
                                    MountFlag{"dirsync", MS_DIRSYNC, true}};

constexpr unsigned long kShowsNoSymlinkFollow =
    0x2000;  // ST_NOSYMFOLLOW (Linux 5.10); the C library lacks it
constexpr unsigned long kAccessTimes = MS_NOATIME | MS_RELATIME | MS_STRICTATIME;

// What the mount was made with stays, unless a word says otherwise: the kernel takes what is not named here for taken back.
unsigned long flags_of(const std::string& mount_point) {
  struct statvfs now;
  if (::statvfs(mount_point.c_str(), &now) != 0) return MS_NOSUID | MS_NODEV;
  constexpr std::array kShown = {std::pair{ST_NOSUID + 0UL, MS_NOSUID + 0UL},
                                 std::pair{ST_NODEV + 0UL, MS_NODEV + 0UL},
                                 std::pair{ST_NOEXEC + 0UL, MS_NOEXEC + 0UL},
                                 std::pair{ST_SYNCHRONOUS + 0UL, MS_SYNCHRONOUS + 0UL},
                                 std::pair{ST_NOATIME + 0UL, MS_NOATIME + 0UL},
                                 std::pair{ST_NODIRATIME + 0UL, MS_NODIRATIME + 0UL},
                                 std::pair{ST_RELATIME + 0UL, MS_RELATIME + 0UL},
                                 std::pair{kShowsNoSymlinkFollow, MS_NOSYMFOLLOW + 0UL}};
  unsigned long flags = 0;
  for (const auto& [shown, flag] : kShown) {
    if ((now.f_flag & shown) != 0) flags |= flag;
  }
  if ((flags & kAccessTimes) == 0) flags |= MS_STRICTATIME;
  return flags;
}

}  // namespace

Status remount(const MountOptions& options) {
  CFFS_TRY(const std::string mount_point, absolute(options.mount_point));
  const auto there = mounted_at(mount_point);
  if (!there || !there->is_cffs()) {
    return fail(Error::usage(mount_point + " is not a cffs mount, so it cannot be remounted"));
  }
  struct statvfs now;
  const bool stays =
      !options.names_access && ::statvfs(mount_point.c_str(), &now) == 0 && (now.f_flag & ST_RDONLY) != 0;
  const bool read_only = options.read_only || stays;
  if (!read_only && (there->follows() || StoreOwner(there->source).only_reads())) {
    return fail(
        Error::usage(mount_point +
                     " was mounted read-only, and its store opened to be looked at; unmount it and mount "
                     "it again"));
  }
  const unsigned long before = flags_of(mount_point);
  unsigned long flags = MS_REMOUNT | before;
  if (read_only) flags |= MS_RDONLY;
  for (const auto* words : {&options.fuse_options, &options.kernel_options}) {
    for (const std::string& word : *words) {
      for (const MountFlag& known : kMountFlags) {
        if (word == known.word) flags = known.set ? flags | known.flag : flags & ~known.flag;
      }
    }
  }
  // atime: where none is named the kernel leaves them as they are.
  if ((flags & kAccessTimes) == 0 && (before & kAccessTimes) != 0) flags |= MS_RELATIME;
  if (::mount(there->source.c_str(), mount_point.c_str(), there->type.c_str(), flags, "") != 0) {
    return fail(errno, mount_point);
  }
  return {};
}

}  // namespace cffs
