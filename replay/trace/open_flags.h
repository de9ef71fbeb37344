// What a handle may be used for, by the flags of its open.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "replay/trace/operation.h"

namespace cffs::replay {

// The errno with which `call` is refused on a handle that was opened with `flags` (O_* of Linux); 0: it is not.
inline int refusal_of(Call call, std::uint32_t flags) {
  constexpr std::uint32_t kNeither = O_WRONLY | O_RDWR;  // for ioctl(2) alone
  const std::uint32_t access = flags & O_ACCMODE;
  const bool on_data = call == Call::read || call == Call::write || call == Call::truncate;
  if (on_data && (flags & O_PATH) != 0) return EBADF;
  if (call == Call::read && (access == O_WRONLY || access == kNeither)) return EBADF;
  if (call == Call::write && (access == O_RDONLY || access == kNeither)) return EBADF;
  if (call == Call::truncate && (access == O_RDONLY || access == kNeither)) return EINVAL;
  return 0;
}

}  // namespace cffs::replay
