#include "fusefs/raw_requests.h"

#include <linux/stat.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

#include "fusefs/reply.h"
#include "fusefs/wire.h"

namespace cffs {

namespace {

constexpr std::uint32_t kTmpfile = 51;
constexpr std::uint32_t kStatx = 52;

thread_local bool truncation_drops = false;

bool says_drop(const fuse_buf& request) {
  fuse_setattr_in in;
  if (request.size < sizeof(fuse_in_header) + sizeof in) return false;
  std::memcpy(&in, static_cast<const char*>(request.mem) + sizeof(fuse_in_header), sizeof in);
  return (in.valid & FATTR_SIZE) != 0 && (in.valid & FATTR_KILL_SUIDGID) != 0;
}

// Protocol 7.39; older headers lack it.
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

// Of a process, as libfuse asks for those of its own requests; where it is gone, none.
bool is_in_group(std::uint32_t process, gid_t wanted) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Groups:")) continue;
    std::istringstream groups(line.substr(sizeof "Groups:" - 1));
    for (gid_t group = 0; groups >> group;) {
      if (group == wanted) return true;
    }
    return false;
  }
  return false;
}

StatxTime statx_time(std::int64_t ns) {
  const timespec t = to_timespec(ns);
  return {t.tv_sec, static_cast<std::uint32_t>(t.tv_nsec), 0};
}

}  // namespace

bool RawRequests::truncation_drops_set_id() { return truncation_drops; }

bool RawRequests::serve(const fuse_buf& request) {
  fuse_in_header header;
  if (!read_header(request, header)) return false;
  if (header.opcode == FUSE_SETATTR) truncation_drops = says_drop(request);
  if (header.opcode == FUSE_DESTROY && holds_end_) {
    end_ = header.unique;
    fuse_session_exit(session_);
    return true;
  }
  if (header.opcode != kTmpfile && header.opcode != kStatx && header.opcode != FUSE_SYNCFS) return false;
  try {
    if (header.opcode == FUSE_SYNCFS) {
      const Status durable = context_.fs.sync();
      reply_raw(session_, header.unique, durable ? 0 : errno_of(durable.error()), nullptr, 0);
    } else if (header.opcode == kStatx) {
      statx(header);
    } else {
      make_unnamed(header, static_cast<const char*>(request.mem) + sizeof(fuse_in_header),
                   request.size - sizeof(fuse_in_header));
    }
  } catch (const std::bad_alloc&) {
    reply_raw(session_, header.unique, ENOMEM, nullptr, 0);
  } catch (const std::exception& e) {
    if (context_.log) context_.log(std::string("operation failed: ") + e.what());
    reply_raw(session_, header.unique, EIO, nullptr, 0);
  }
  return true;
}

void RawRequests::answer_end() {
  if (const std::uint64_t end = end_.exchange(0); end != 0) reply_raw(session_, end, 0, nullptr, 0);
}

void RawRequests::make_unnamed(const fuse_in_header& header, const void* body, std::size_t size) {
  fuse_create_in in;
  if (size < sizeof in) return reply_raw(session_, header.unique, EINVAL, nullptr, 0);
  std::memcpy(&in, body, sizeof in);
  const auto in_group = [&header](gid_t group) {
    return group == header.gid || is_in_group(header.pid, group);
  };
  const Caller caller = (header.uid == 0 ? Caller::privileged(header.uid, header.gid)
                                         : Caller::unprivileged(header.uid, header.gid, in_group))
                            .with_umask(in.umask);
  const auto made = context_.fs.make_unnamed(fuse::inode_of(header.nodeid), in.mode, caller);
  if (!made) return reply_raw(session_, header.unique, errno_of(made.error()), nullptr, 0);
  struct {
    fuse_entry_out entry;
    fuse_open_out open;
  } out{};
  out.entry = wire_entry(fuse::node_of(context_, made->ino), fuse::stat_of(*made));
  out.open.open_flags = FOPEN_KEEP_CACHE;
  reply_raw(session_, header.unique, 0, &out, sizeof out);
}

void RawRequests::statx(const fuse_in_header& header) {
  fuse::Watch watch(context_.observer, fuse::Watch::What::getattr, fuse::inode_of(header.nodeid),
                    static_cast<pid_t>(header.pid));
  context_.receipts.told(fuse::inode_of(header.nodeid), static_cast<pid_t>(header.pid));  // as of GETATTR
  context_.receipts.told_of_file(static_cast<pid_t>(header.pid));
  const auto found = context_.fs.getattr(fuse::inode_of(header.nodeid));
  if (!watch.outcome(found)) return reply_raw(session_, header.unique, errno_of(found.error()), nullptr, 0);
  const struct stat st = fuse::stat_of(*found);
  StatxOut out{};
  out.valid_seconds = kForEverSeconds;
  Statx& s = out.stat;
  s.mask = STATX_BASIC_STATS | STATX_BTIME;
  s.block_size = static_cast<std::uint32_t>(st.st_blksize);
  s.nlink = static_cast<std::uint32_t>(st.st_nlink);
  s.uid = st.st_uid;
  s.gid = st.st_gid;
  s.mode = static_cast<std::uint16_t>(st.st_mode);
  s.ino = st.st_ino;
  s.size = static_cast<std::uint64_t>(st.st_size);
  s.blocks = static_cast<std::uint64_t>(st.st_blocks);
  s.atime = statx_time(found->atime_ns);
  s.btime = statx_time(found->btime_ns);
  s.ctime = statx_time(found->ctime_ns);
  s.mtime = statx_time(found->mtime_ns);
  s.rdev_major = major(st.st_rdev);
  s.rdev_minor = minor(st.st_rdev);
  reply_raw(session_, header.unique, 0, &out, sizeof out);
}

}  // namespace cffs
