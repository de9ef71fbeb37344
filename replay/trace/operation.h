// One file-system operation of a trace, and the words for it.
//
// Calls are grouped by what reaches a file system, not by the system call's spelling: openat, open and creat are `open`,
// pread64 and read are `read`. Offsets are always explicit, so seeks need no operation. A handle is an open file
// description: descriptors that share one (dup, fork) have the same handle.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace cffs::replay {

enum class Call : std::uint8_t {
  open,       // path, flags, mode -> handle
  close,      // handle; the last descriptor of it is gone
  read,       // handle (or path: opened and closed for this one read), offset, length
  write,      // the same
  truncate,   // handle or path, length
  fsync,      // handle
  fdatasync,  // handle
  sync,       // the whole file system
  stat,    // path (flags 1: follows symlinks) or handle; length: size, mode: type and permissions as recorded
  access,  // path, mode
  readlink,     // path
  readdir,      // handle or path: all entries with their types
  mkdir,        // path, mode
  rmdir,        // path
  unlink,       // path
  rename,       // path to path2, flags: of renameat2
  link,         // path gets the second name path2
  symlink,      // path is made, path2 is what it holds
  mknod,        // path, mode: sockets and named pipes; the latter are replayed as files
  chmod,        // path or handle, mode
  chown,        // path or handle
  utimens,      // path or handle
  getxattr,     // path or handle, path2: the attribute's name
  setxattr,     // the same, length: of the value
  listxattr,    // path or handle
  removexattr,  // path or handle, path2
  fetch,        // path: opened, read to the end, closed: what a web server does, or exec
  spawn,        // no file: `handle` is the client that starts here
  reap,         // no file: `handle` is the client whose end was waited for
};
inline constexpr std::size_t kCalls = static_cast<std::size_t>(Call::reap) + 1;

std::string_view name_of(Call call);
std::optional<Call> call_of(std::string_view name);

using PathId = std::uint32_t;
inline constexpr PathId kNoPath = std::numeric_limits<PathId>::max();
inline constexpr std::uint32_t kNoHandle = 0;
inline constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

struct Operation {
  std::int64_t time_ns = 0;       // from the trace's start to the call's
  std::uint32_t duration_ns = 0;  // 0: not recorded; the longest that fits is 4.2 s
  std::uint32_t client = 0;
  Call call = Call::stat;
  PathId path = kNoPath, path2 = kNoPath;
  std::uint32_t handle = kNoHandle;
  std::uint64_t offset = 0, length = 0;  // bytes
  std::int64_t result = 0;               // as the call returned, or -errno
  std::uint32_t flags = 0;               // O_* of Linux on x86-64, or as the call says
  std::uint32_t mode = 0;
};

// Whether its offset, length and result are such as a trace can hold: what is written otherwise nobody reads again.
bool has_possible_bytes(const Operation& operation);

}  // namespace cffs::replay
