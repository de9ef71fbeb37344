// The tree of files that benchmarks of programs and of reading work on: a directory or a tar, given or the system's headers.
#pragma once

#include <string>
#include <vector>

#include "bench/suite/session.h"

namespace cffs::bench {

// What its parameter is called, with its defaults.
Parameter source_tree_parameter();
// A directory with the tree: the given one, or where the given tar was unpacked, once for all targets.
Result<std::string> source_directory(Session& session);

struct SourceFile {
  std::string path;  // below the directory
  std::uint64_t size = 0;
};
// Its regular files, by name; symlinks are not followed.
Result<std::vector<SourceFile>> source_files(const std::string& directory);

}  // namespace cffs::bench
