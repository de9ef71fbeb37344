// What a row knows about one file: attributes, and where its data is (docs/ARCHITECTURE.md, "home").
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"

namespace cffs {

// Never renumber: on disk.
enum class Home : std::uint8_t {
  none = 0,       // no data: empty files, directories, devices, symlinks (their target is in the row)
  inline_ = 1,    // chunks in the table, under the file's own number
  composite = 2,  // a subfile
  blob = 3,       // an object of its own
};

// Where a subfile lies. The subfile id of the papers is (composite ‖ slot).
struct Extent {
  CompositeId composite;
  std::uint32_t slot = 0;          // n-th record of the composite
  std::uint64_t offset = 0;        // of the data, bytes from the start of the object
  std::uint64_t length = 0;        // bytes of data
  std::uint64_t capacity = 0;      // bytes up to the next record
  std::uint64_t checksum = 0;      // XXH3-64 of the data
  std::uint64_t group_offset = 0;  // the run of bytes worth reading together with this one
  std::uint64_t group_length = 0;
  bool moved = false;  // renamed since: a member_files row says where to
  friend bool operator==(const Extent&, const Extent&) = default;
};

// Data that is in the table, or in a composite: no store has more of one file there, whatever its format says. Bytes. Stores without
// the feature "large members" have members of kSmallFileMax at most.
inline constexpr std::uint64_t kSmallFileMax = 64u << 20;
inline constexpr std::uint64_t kMemberMax = 128u << 20;
inline constexpr std::uint64_t kFileMax = std::numeric_limits<std::int64_t>::max();  // bytes

using Xattrs = std::vector<std::pair<std::string, std::string>>;  // sorted by name

// The value, or null.
inline const std::string* find_xattr(const Xattrs& xattrs, std::string_view name) {
  for (const auto& [key, value] : xattrs) {
    if (key == name) return &value;
  }
  return nullptr;
}

inline void erase_xattr(Xattrs& xattrs, std::string_view name) {
  std::erase_if(xattrs, [name](const auto& x) { return x.first == name; });
}

// Of one of the seven types, and nothing but that and permissions.
constexpr bool is_file_mode(std::uint64_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
      return (mode & ~std::uint64_t{S_IFMT | 07777}) == 0;
    default:
      return false;
  }
}

struct Inode {
  InodeId ino;
  mode_t mode = 0;  // type and permission bits
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t nlink = 1;
  std::uint64_t size = 0;  // bytes
  std::int64_t atime_ns = 0, mtime_ns = 0, ctime_ns = 0, btime_ns = 0;
  std::uint64_t rdev = 0;
  std::uint64_t version = 0;  // grows with every change of the content; tells a mover that it lost a race
  Home home = Home::none;
  Extent extent;                // home == composite
  std::uint64_t allocated = 0;  // home == blob: bytes held by the backing store when the row was written
  bool sealed = false;          // home == blob: the table has checksums of all of it (core/fs/blob_sums.h)
  std::string target;           // symlinks
  Xattrs xattrs;

  // Target and attributes are not here but in the row, which knows them; of them this is known (core/fs/long_parts.h). Such an
  // inode cannot be encoded.
  struct LeftInRow {
    std::uint64_t target_bytes = 0;
    std::uint64_t bytes = 0;  // of the target and all attributes
    bool has_capability = false;
  };
  std::optional<LeftInRow> left_in_row;

  // A blob that holds room for more than it has, as fallocate asked: moved elsewhere it would lose that. Less than 64 KiB may be
  // what the file system below holds by itself.
  bool holds_room() const { return home == Home::blob && allocated >= size + (64u << 10); }
  bool is_directory() const { return S_ISDIR(mode); }
  bool is_regular() const { return S_ISREG(mode); }
  bool is_symlink() const { return S_ISLNK(mode); }
};

}  // namespace cffs
