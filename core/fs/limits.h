// What the engine takes at most, as ext4 and the kernel's VFS do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cffs {

inline constexpr std::size_t kNameMax = 255;      // bytes of a name
inline constexpr std::size_t kSymlinkMax = 4095;  // bytes of a symlink's target
// Names of one directory whose hashes are equal, and so share a row: ENOSPC beyond, as of ext4's index. A readdir cookie counts
// fewer than 128 of them.
inline constexpr std::size_t kNamesOfOneHash = 120;
// Bytes of attributes that such a row holds in sum, of all its names: ENOSPC for what would be more. Four files' most (xattr.cc).
inline constexpr std::size_t kSharedRowXattrsMax = 512 * 1024;
inline constexpr std::uint64_t kLinkMax = 65'000;  // names of one file

// Rows that one batch of many files changes: who waits for their stripes waits for so many.
inline constexpr std::size_t kRowsAtOnce = 256;

}  // namespace cffs
