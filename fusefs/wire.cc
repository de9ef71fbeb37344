#include "fusefs/wire.h"

#include <sys/uio.h>

#include <array>

#include "fusefs/reply.h"
#include "fusefs/reply_route.h"

namespace cffs {

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

}  // namespace cffs
