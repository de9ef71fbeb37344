// The trees of names that the papers' benchmarks are run on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cffs::bench {

struct NamespaceModel {
  std::vector<std::string> directories;  // parents before children, without the root
  std::vector<std::string> files;
  std::uint64_t numbered =
      0;  // files in one directory that are named by number alone: a hundred million need no list

  std::uint64_t count() const { return numbered + files.size(); }
  std::string file(std::uint64_t index) const;

  // All files in one directory.
  static NamespaceModel flat(std::uint64_t files);
  // As many files in each of so many directories (the short paper's Fig. 7).
  static NamespaceModel grid(std::uint64_t directories, std::uint64_t files);
  // Like the desktop of TableFS §4.7: 172,252 directories for a million files, mean depth 8, in depth-first order. The
  // tree itself was not published: directories follow a random walk around that depth, files fall on them geometrically.
  static NamespaceModel desktop(std::uint64_t files, std::uint64_t seed);
};

}  // namespace cffs::bench
