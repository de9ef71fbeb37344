// Export of a store, or of a directory in it, to a directory or an archive; everything that import keeps
// is kept by directories and by tar.
#pragma once

#include <functional>

#include "core/base/failures.h"
#include "core/fs/file_system.h"
#include "core/transfer/archive_form.h"
#include "core/transfer/import_rules.h"

namespace cffs {

struct ExportReport : Failures {
  std::uint64_t files = 0, directories = 0,
                bytes = 0;  // that came, whole: names that are no directories, and those that are
  std::uint64_t same = 0, updated = 0,
                removed = 0;     // were there already; replaced others; were not in the store
  std::uint64_t same_bytes = 0;  // of those that were there already
  std::uint64_t left_over = 0;   // temporaries of killed transfers, which went
  std::uint64_t times_changed =
      0;  // names whose time the archive cannot have: it has the nearest that it can
  std::uint64_t attributes_lost =
      0;  // names with extended attributes or access control lists, which the archive cannot have
  bool out_of_room = false;  // it ended there
  bool interrupted = false;  // the rule `stop` ended it
};

// Called now and then.
using ExportProgress = std::function<void(const ExportReport&)>;

// `path` in the store ("" or "/" is the root); its content goes into `destination`, which is made if it is
// not there. By the rules of an import, with several workers.
Result<ExportReport> export_directory(FileSystem& fs, const std::string& path, const std::string& destination,
                                      const ImportRules& rules = {}, unsigned jobs = 2,
                                      const ExportProgress& on_progress = {});
// To a file, which is there when all of it is; "-": to standard output. What a format cannot have (a socket in a zip) is told of and left
// out. Of the rules those of an archive, which is written anew: `excludes` and `stop`.
Result<ExportReport> export_archive(FileSystem& fs, const std::string& path, const std::string& destination,
                                    const ArchiveForm& form, const ImportRules& rules = {},
                                    const ExportProgress& on_progress = {});

// The inode a path leads to, symlinks not followed, with a reference.
Result<Attributes> resolve(FileSystem& fs, const std::string& path);

}  // namespace cffs
