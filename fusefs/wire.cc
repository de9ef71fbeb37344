#include "fusefs/wire.h"

#include <linux/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <array>

#include "fusefs/reply.h"
#include "fusefs/reply_route.h"

namespace cffs {
namespace {

StatxTime statx_time(timespec t) { return {t.tv_sec, static_cast<std::uint32_t>(t.tv_nsec), 0}; }

}  // namespace

void reply_raw(fuse_session* session, std::uint64_t unique, int error, const void* payload,
               std::size_t size) {
  fuse_out_header header{static_cast<std::uint32_t>(sizeof(fuse_out_header) + size), -error, unique};
  iovec pieces[2] = {{&header, sizeof header}, {const_cast<void*>(payload), size}};
  // An error here means that the caller is gone, as in libfuse.
  (void)write_reply(fuse_session_fd(session), pieces, size > 0 ? 2 : 1);
}

bool notify_raw(fuse_session* session, std::int32_t what, std::span<const ConstBytes> pieces) {
  fuse_out_header header{sizeof(fuse_out_header), what, 0};
  std::array<iovec, 1 + kNotifyPieces> all{{{&header, sizeof header}}};
  std::size_t count = 1;
  for (const ConstBytes& piece : pieces) {
    all.at(count++) = {const_cast<std::byte*>(piece.data()), piece.size()};
    header.len += static_cast<std::uint32_t>(piece.size());
  }
  return ::writev(fuse_session_fd(session), all.data(), static_cast<int>(count)) >= 0;
}

fuse_entry_out wire_entry(std::uint64_t node, const struct stat& st) {
  fuse_entry_out out{};
  out.nodeid = node;
  out.generation = fuse::kGeneration;
  out.entry_valid = out.attr_valid = kForEverSeconds;
  out.attr = wire_attributes(st);
  return out;
}

fuse_attr wire_attributes(const struct stat& st) {
  fuse_attr attr{};
  attr.ino = st.st_ino;
  attr.size = static_cast<std::uint64_t>(st.st_size);
  attr.blocks = static_cast<std::uint64_t>(st.st_blocks);
  attr.atime = static_cast<std::uint64_t>(st.st_atim.tv_sec);
  attr.mtime = static_cast<std::uint64_t>(st.st_mtim.tv_sec);
  attr.ctime = static_cast<std::uint64_t>(st.st_ctim.tv_sec);
  attr.atimensec = static_cast<std::uint32_t>(st.st_atim.tv_nsec);
  attr.mtimensec = static_cast<std::uint32_t>(st.st_mtim.tv_nsec);
  attr.ctimensec = static_cast<std::uint32_t>(st.st_ctim.tv_nsec);
  attr.mode = st.st_mode;
  attr.nlink = static_cast<std::uint32_t>(st.st_nlink);
  attr.uid = st.st_uid;
  attr.gid = st.st_gid;
  attr.rdev = static_cast<std::uint32_t>(st.st_rdev);
  attr.blksize = static_cast<std::uint32_t>(st.st_blksize);
  return attr;
}

Statx wire_statx(const struct stat& st, timespec born) {
  Statx s{};
  s.mask = STATX_BASIC_STATS | STATX_BTIME;
  s.block_size = static_cast<std::uint32_t>(st.st_blksize);
  s.nlink = static_cast<std::uint32_t>(st.st_nlink);
  s.uid = st.st_uid;
  s.gid = st.st_gid;
  s.mode = static_cast<std::uint16_t>(st.st_mode);
  s.ino = st.st_ino;
  s.size = static_cast<std::uint64_t>(st.st_size);
  s.blocks = static_cast<std::uint64_t>(st.st_blocks);
  s.atime = statx_time(st.st_atim);
  s.btime = statx_time(born);
  s.ctime = statx_time(st.st_ctim);
  s.mtime = statx_time(st.st_mtim);
  s.rdev_major = major(st.st_rdev);
  s.rdev_minor = minor(st.st_rdev);
  return s;
}

}  // namespace cffs
