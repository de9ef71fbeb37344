// Export of a store, or of a directory in it, to a directory or a tar archive; everything that import keeps
// is kept.
#pragma once

#include "core/fs/file_system.h"

namespace cffs {

struct ExportReport {
  std::uint64_t files = 0, directories = 0, bytes = 0;
  std::uint64_t failed = 0;
  std::vector<std::string> problems;
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
