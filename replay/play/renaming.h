// rename(2) as programs do it where a file system knows no flags of renameat2(2), as FUSE's of CephFS and of SSH do not: they hear EINVAL or
// ENOSYS, look whether the name is there, and rename without flags (mv(1) of coreutils, by gnulib's renameatu). So a recorded session is
// played there with what its programs would have done, and not with an error that they would not have shown.
#pragma once

#include <linux/fs.h>

#include <cerrno>
#include <cstdint>
#include <functional>

namespace cffs::replay {

struct RenameCalls {  // 0 or -errno
  std::function<std::int64_t(std::uint32_t flags)> rename;
  std::function<std::int64_t()> look;  // at the new name, following no link
};

inline std::int64_t rename_as_programs_do(std::uint32_t flags, const RenameCalls& calls) {
  const std::int64_t renamed = calls.rename(flags);
  if (flags != RENAME_NOREPLACE || (renamed != -EINVAL && renamed != -ENOSYS)) return renamed;
  const std::int64_t looked = calls.look();
  if (looked == 0) return -EEXIST;
  return looked == -ENOENT ? calls.rename(0) : looked;
}

}  // namespace cffs::replay
