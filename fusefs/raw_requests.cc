#include "fusefs/raw_requests.h"

#include <cstring>
#include <fstream>
#include <new>
#include <sstream>

#include "fusefs/reply.h"
#include "fusefs/wire.h"

namespace cffs {

namespace {

constexpr std::uint32_t kTmpfile = 51;

thread_local bool truncation_drops = false;

bool says_drop(const fuse_buf& request) {
  fuse_setattr_in in;
  if (request.size < sizeof(fuse_in_header) + sizeof in) return false;
  std::memcpy(&in, static_cast<const char*>(request.mem) + sizeof(fuse_in_header), sizeof in);
  return (in.valid & FATTR_SIZE) != 0 && (in.valid & FATTR_KILL_SUIDGID) != 0;
}

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
  if (header.opcode != kTmpfile && header.opcode != kFuseStatx && header.opcode != FUSE_SYNCFS) return false;
  try {
    if (header.opcode == FUSE_SYNCFS) {
      const Status durable = context_.fs.sync();
      reply_raw(session_, header.unique, durable ? 0 : errno_of(durable.error()), nullptr, 0);
    } else if (header.opcode == kFuseStatx) {
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
  StatxOut out{};
  out.valid_seconds = kForEverSeconds;
  out.stat = wire_statx(fuse::stat_of(*found), to_timespec(found->btime_ns));
  reply_raw(session_, header.unique, 0, &out, sizeof out);
}

}  // namespace cffs
