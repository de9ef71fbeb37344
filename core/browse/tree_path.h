// From a path in a store to the file it leads to, as path_resolution(7) has it within one tree: symbolic links on the way are followed.
#pragma once

#include <string>

#include "core/fs/file_system.h"

namespace cffs {

enum class LastLink { follow, keep };

// The file, with a reference. `path` "" or "/" is the root; so is ".." of it. ENOENT, ENOTDIR, ELOOP (40 links); a link that leads
// out of the tree, by an absolute target or by "..", is followed by nobody here: `usage`. `name` is what errors call it.
Result<Attributes> find_path(FileSystem& fs, const std::string& path, LastLink last, const std::string& name);

}  // namespace cffs
