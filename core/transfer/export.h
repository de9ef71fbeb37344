// Export of a store, or of a directory in it, to a directory or a tar archive; everything that import keeps
// is kept.
#pragma once

#include "core/fs/file_system.h"

namespace cffs {

struct ExportReport {
  std::uint64_t files = 0, directories = 0, bytes = 0;  // that are there, whole
  std::uint64_t failed = 0;
  std::vector<std::string> problems;  // the first of what failed, one sentence each

  void fail(std::string problem) {
    constexpr std::size_t kMostProblems = 20;
    ++failed;
    if (problems.size() < kMostProblems) problems.push_back(std::move(problem));
  }
};

// `path` in the store ("" or "/" is the root); its content goes into `destination`, which is made if it is
// not there.
Result<ExportReport> export_directory(FileSystem& fs, const std::string& path,
                                      const std::string& destination);
// The compression follows the name: .tar, .tar.gz/.tgz, .tar.xz/.txz, .tar.zst; "-" is standard output,
// plain.
Result<ExportReport> export_tar(FileSystem& fs, const std::string& path, const std::string& destination);

// The inode a path leads to, symlinks not followed, with a reference.
Result<Attributes> resolve(FileSystem& fs, const std::string& path);

}  // namespace cffs
