// What is mounted where, as the kernel lists it for a process (proc(5), mountinfo).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cffs {

struct MountEntry {
  std::uint64_t id = 0, parent = 0;  // of this mount in its namespace; copies have numbers of their own
  std::string device;                // "0:53": the file system's; all copies of a mount have the same
  std::string point, type, source;

  // The second is a store on a block device, mounted as such (serving.h).
  bool is_cffs() const { return type == "fuse.cffs" || type == "fuseblk.cffs" || follows(); }
  // Its daemon reads a store that another has.
  bool follows() const { return type == "fuse.cffs-follow"; }
};

// In the order of mounting. Empty where the list cannot be read.
std::vector<MountEntry> read_mount_table(const std::string& list = "/proc/self/mountinfo");
// One line of it; nullopt: it is none.
std::optional<MountEntry> parse_mount_line(const std::string& line);

// What is mounted exactly here, last one on top; nothing where it is an ordinary directory.
std::optional<MountEntry> mounted_at(const std::string& path);
// The cffs mount that an existing path lies in; nothing where it lies elsewhere.
std::optional<MountEntry> cffs_mount_of(const std::string& path);

}  // namespace cffs
