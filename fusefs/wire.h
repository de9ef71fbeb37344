// The kernel's own format of requests and replies (linux/fuse.h), for those that do not go through libfuse.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "core/base/bytes.h"

namespace cffs {

inline constexpr std::uint64_t kForEverSeconds = 1'000'000'000;  // fuse::kForEver

// Protocol 7.39; older headers lack it.
inline constexpr std::uint32_t kFuseStatx = 52;
struct StatxTime {
  std::int64_t seconds;
  std::uint32_t nanoseconds;
  std::int32_t reserved;
};
struct Statx {
  std::uint32_t mask, block_size;
  std::uint64_t attributes;
  std::uint32_t nlink, uid, gid;
  std::uint16_t mode, spare0;
  std::uint64_t ino, size, blocks, attributes_mask;
  StatxTime atime, btime, ctime, mtime;
  std::uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
  std::uint64_t spare2[14];
};
struct StatxOut {
  std::uint64_t valid_seconds;
  std::uint32_t valid_nanoseconds, flags;
  std::uint64_t spare[2];
  Statx stat;
};
static_assert(sizeof(Statx) == 256 && sizeof(StatxOut) == 288);

// False where the request is too short to have one.
inline bool read_header(const fuse_buf& request, fuse_in_header& header) {
  if (request.size < sizeof header) return false;
  std::memcpy(&header, request.mem, sizeof header);
  return true;
}

// Answers with an errno, or with 0 and a payload.
void reply_raw(fuse_session* session, std::uint64_t unique, int error, const void* payload, std::size_t size);

// Tells the kernel something that it has not asked for, in so many pieces at most: a reply to no request. False: errno says why not.
inline constexpr std::size_t kNotifyPieces = 2;
bool notify_raw(fuse_session* session, std::int32_t what, std::span<const ConstBytes> pieces = {});

// An entry that stays valid for ever.
fuse_entry_out wire_entry(std::uint64_t node, const struct stat& st);
fuse_attr wire_attributes(const struct stat& st);
Statx wire_statx(const struct stat& st, timespec born);

}  // namespace cffs
