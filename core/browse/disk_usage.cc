#include "core/browse/disk_usage.h"

#include <vector>

#include "core/browse/tree_walk.h"

namespace cffs {

Result<std::uint64_t> DiskUsage::of(const Attributes& start) {
  std::vector<std::uint64_t> sums;  // of the directories on the way down
  std::uint64_t whole = 0;
  const auto taken = [&](const Attributes& a) -> std::uint64_t {
    if (!S_ISDIR(a.mode) && a.nlink > 1 && !counted_.insert(a.ino).second) return 0;
    return options_.apparent ? a.size : a.allocated;
  };
  const auto add = [&](std::uint64_t bytes) { (sums.empty() ? whole : sums.back()) += bytes; };
  TreeWalker walker;
  walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
    if (S_ISDIR(file.attributes.mode)) {
      // A directory that an earlier start had in it is there once, with all that is below.
      if (!counted_.insert(file.attributes.ino).second) return Onward::pass_by;
      sums.push_back(taken(file.attributes));
      return Onward::descend;
    }
    const bool again = file.attributes.nlink > 1 && counted_.contains(file.attributes.ino);
    const std::uint64_t bytes = taken(file.attributes);
    add(bytes);
    if (!again && (file.path.empty() || (options_.all_files && file.depth <= options_.depth)))
      options_.line(file.path, bytes);
    return Onward::pass_by;
  };
  walker.leave = [&](const WalkedFile& directory) -> Status {
    const std::uint64_t bytes = sums.back();
    sums.pop_back();
    add(bytes);
    if (directory.depth <= options_.depth) options_.line(directory.path, bytes);
    return {};
  };
  walker.trouble = [&](const WalkedFile& file, const Error& error) {
    if (options_.trouble) options_.trouble(file.path, error);
  };
  CFFS_TRY_VOID(walk_tree(fs_, start, walker));
  return whole;
}

}  // namespace cffs
