// Strong types for the numbers of a store. All are drawn from one durable counter (TableFS §3.4) and never
// reused.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace cffs {

// The inode number of a file, directory or composite: st_ino, stable for its life. 56 bits are used: the top
// byte of a table key names the kind of row (core/table/key.h).
struct InodeId {
  std::uint64_t value = 0;
  friend auto operator<=>(const InodeId&, const InodeId&) = default;
};

// A composite's number; it owns a row of its own under the same number space as inodes.
struct CompositeId {
  std::uint64_t value = 0;
  friend auto operator<=>(const CompositeId&, const CompositeId&) = default;
};

// Who reads: files that one reader comes to one after the other are likely to belong together. A process, for a mount; 0: nobody
// knows.
using ReaderId = std::uint64_t;

inline constexpr InodeId kRootInode{0};          // TableFS §3.2
inline constexpr std::uint64_t kFirstInode = 2;  // 1 stays free: FUSE calls the root 1
inline constexpr std::uint64_t kInodeLimit = std::uint64_t{1} << 56;

}  // namespace cffs

template <>
struct std::hash<cffs::InodeId> {
  std::size_t operator()(cffs::InodeId id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};
template <>
struct std::hash<cffs::CompositeId> {
  std::size_t operator()(cffs::CompositeId id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};
