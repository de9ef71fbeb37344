// The files that lie in one group with a file (docs/ARCHITECTURE.md, "group"): what its readers are likely to want next.
#pragma once

#include <string>
#include <vector>

#include "core/batch/placed_files.h"

namespace cffs {

struct GroupMember {
  std::string path;  // one of its names, from the root on
  FilePlace place;
};

// In the order in which they lie, the file itself among them, by `path` then. A file that is in no composite is alone. Errors are
// PlaceFinder's.
Result<std::vector<GroupMember>> group_of(FileSystem& fs, const std::string& path);

}  // namespace cffs
