#include "core/region/incarnation.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/base/checksum.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ _IOR(0x12, 128, std::uint64_t)  // Linux 5.15
#endif
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U  // Linux 6.8
#endif

namespace cffs {
namespace {

std::string first_word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

std::string number_text(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

// Of a block device. /sys has that of whole disks alone, and is not there everywhere.
std::string attachment_of_device(int fd, const struct stat& st) {
  std::uint64_t sequence = 0;
  if (::ioctl(fd, BLKGETDISKSEQ, &sequence) == 0 && sequence != 0) return std::to_string(sequence);
  if (std::string known = attachment_of(st.st_rdev); !known.empty()) return known;
  return "node " + std::to_string(st.st_ino);  // which is made anew with each attachment
}

std::optional<std::uint64_t> mount_id(int fd, unsigned kind) {
  struct statx st;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kind, &st) != 0 || (st.stx_mask & kind) == 0)
    return std::nullopt;
  return st.stx_mnt_id;
}

// Of a file system that has the number of no disk (Btrfs, overlays), or of a disk that nothing is known of: that of the disk which its
// mount names, else what is another one once it was mounted again, as it has to be behind an attachment.
std::string attachment_of_mount(int fd) {
  struct statfs below;
  if (::fstatfs(fd, &below) == 0 && below.f_type == TMPFS_MAGIC) return {};  // it ends with its mount
  const auto id = mount_id(fd, STATX_MNT_ID);
  struct stat source;
  if (id && ::stat(source_of_mount(*id).c_str(), &source) == 0 && S_ISBLK(source.st_mode)) {
    if (const std::string known = attachment_of(source.st_rdev); !known.empty())
      return number_text(source.st_rdev) + " " + known;
  }
  if (const auto unique = mount_id(fd, STATX_MNT_ID_UNIQUE)) return "mount " + std::to_string(*unique);
  return id ? "mount " + std::to_string(*id) : std::string();
}

}  // namespace

std::string attachment_of(dev_t device, const std::string& devices) {
  const std::string here = devices + "/" + number_text(device);
  const std::string whole = first_word(here + "/diskseq");
  return whole.empty() ? first_word(here + "/../diskseq") : whole;  // a partition lies in its disk
}

std::string source_of_mount(std::uint64_t id, const std::string& list) {
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(std::to_string(id) + " ")) continue;
    const std::size_t behind = line.find(" - ");
    if (behind == std::string::npos) return {};
    std::istringstream words(line.substr(behind + 3));
    std::string type, source;
    words >> type >> source;
    return source;
  }
  return {};
}

// What was written is in memory until it is flushed: it is gone with the machine's boot, and with the attachment of the disk below.
std::uint64_t incarnation_of(int fd, const struct stat& st) {
  const bool device = S_ISBLK(st.st_mode);
  const dev_t disk = device ? st.st_rdev : st.st_dev;
  std::string attachment = device ? attachment_of_device(fd, st) : attachment_of(disk);
  if (!device && attachment.empty()) attachment = attachment_of_mount(fd);
  std::string said =
      first_word("/proc/sys/kernel/random/boot_id") + " " + number_text(disk) + " " + attachment;
  if (!device) said += " " + std::to_string(st.st_ino);
  return std::max<std::uint64_t>(1, checksum(said));
}

}  // namespace cffs
