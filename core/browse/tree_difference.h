// What two trees differ in (docs/BROWSING.md): names, types, permissions, owners, extended attributes, targets of links, and contents byte
// by byte.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/browse/compared_tree.h"

namespace cffs {

struct Difference {
  std::string path;  // relative to where both begin; "" is the start itself
  // '<' '>' only in the first, the second tree (of a directory this is all that is said of what is below); else any of 'T' type, 'C'
  // content, 'L' target, 'N' device number, 'P' permissions, 'O' owner or group, 'X' extended attributes, 'M' time of the last change.
  std::string kinds;
  std::vector<std::string> details;  // for people: "mode 0644, 0755"
};

struct DifferenceOptions {
  bool times =
      false;  // of the last change, of all but directories' and links'; where one has no fraction of a second to that second
  bool owners = true, permissions = true, xattrs = true, contents = true;
  std::function<void(const Difference&)> found;
  std::function<void(const std::string& path, const Error&)> trouble;  // could not be compared
  std::function<bool()> go_on;  // asked between files; null: to the end
};

struct DifferenceCount {
  std::uint64_t files = 0;  // compared, directories among them
  std::uint64_t differences = 0, troubles = 0;
};

Result<DifferenceCount> compare_trees(ComparedTree& first, ComparedTree& second,
                                      const DifferenceOptions& options);

}  // namespace cffs
