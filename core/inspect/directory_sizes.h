// What directories hold, and what that takes: how well each part of a tree is compressed (docs/COMPRESSION.md).
#pragma once

#include <string>
#include <vector>

#include "core/fs/file_system.h"

namespace cffs {

struct DirectorySizes {
  struct Line {
    std::string path;                // from the root, which is "."
    std::uint64_t files = 0;         // regular ones below it, however deep
    std::uint64_t bytes = 0;         // as long as they say they are
    std::uint64_t stored_bytes = 0;  // of composites the members' shares; files elsewhere as long as they are
  };
  std::vector<Line> lines;              // the root, then those to a depth, by path
  std::uint64_t unread_composites = 0;  // damaged ones: what they hold counts as if it were not compressed
};

// Goes through the table once, directory by directory, and reads of composites the indexes of their frames. In memory are a line for
// each directory to `depth`, the directories that are still to come, and a bit for each number of an inode. A file with several names
// counts where it is come to first. What changes meanwhile is seen or not; nobody waits.
Result<DirectorySizes> collect_directory_sizes(FileSystem& fs, unsigned depth);

// As JSON of so many bytes at most: what does not fit is left out, the smallest first, and counted.
std::string directory_sizes_json(const DirectorySizes& sizes, std::size_t most_bytes);

}  // namespace cffs
