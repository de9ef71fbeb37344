// Where a figure was measured: machine, kernel, libraries, the file system below a path and how it is mounted.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace cffs::replay {

// Facts that do not change while a program runs.
std::map<std::string, std::string> environment();

// The mount that a path is on.
struct MountFacts {
  std::string type;    // "ext4", "fuse.cffs"
  std::string source;  // device, or the store
  std::string options;
  std::string
      device;  // "259:3" of the block device that holds its bytes in the end; empty where there is none
};
MountFacts mount_of(const std::string& path);

}  // namespace cffs::replay
