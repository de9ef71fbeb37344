// What kind of archive a file's name asks for.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"

namespace cffs {

struct ArchiveForm {
  enum class Format { tar, cpio, zip } format = Format::tar;
  enum class Filter { none, gzip, bzip2, xz, zstd } filter = Filter::none;

  // Names of a file beside its first are links in it; of zip and cpio each is a file of its own.
  bool has_hard_links() const { return format == Format::tar; }
  bool has_xattrs() const { return format == Format::tar; }
  // Else they are zeros.
  bool has_holes() const { return format == Format::tar; }
};

// .tar and .cpio, plain or with .gz, .bz2, .xz, .zst; .tgz, .tbz2, .txz, .tzst; .zip; "-" is a plain tar. nullopt: the name is no archive's.
// `usage`: it is that of one that is not written here (.7z, .rar and so on), and would surprise as a directory's.
Result<std::optional<ArchiveForm>> archive_form(const std::string& name);

}  // namespace cffs
