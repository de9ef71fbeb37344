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
  std::string root;  // what of the file system is mounted there: "/", or with bind mounts a directory in it
  std::optional<std::uint32_t> user = {};  // who mounted it, as far as FUSE says

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
// Where a store, named as one likes, is mounted, as far as this process sees.
std::vector<std::string> mount_points_of(const std::string& store);
// Where a path is on its file system, through bind mounts, which have other paths for the same; it need not exist. nullopt: nobody
// knows.
struct DevicePlace {
  std::string device, path;
};
std::optional<DevicePlace> device_place_of(const std::string& path);
// The cffs mount that an existing path lies in; nothing where it lies elsewhere.
std::optional<MountEntry> cffs_mount_of(const std::string& path);

}  // namespace cffs
