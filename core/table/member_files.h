// Whose the data of a composite's record is, where it is not just the file that the record names, at the place that it names: a file
// that was renamed since, or several files with the same content, which share it (docs/DEDUPLICATION.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/table/row.h"

namespace cffs {

struct MemberFile {
  InodeId ino;   // 0: the one that the record names
  EntryName at;  // where it came to the record, or was renamed to since; no name: where the record says
  friend bool operator==(const MemberFile&, const MemberFile&) = default;
};

// One row's.
struct MemberFiles {
  std::vector<MemberFile> files;  // one at least
  // Each is named by its number; else the one file was renamed, no more.
  bool is_shared() const { return files.front().ino.value != 0; }
};

// So many share one record: the row is written anew with each that comes or goes.
inline constexpr std::size_t kMostSharers = 128;

std::string encode_member_files(const MemberFiles& row);
Result<MemberFiles> decode_member_files(std::string_view bytes);

}  // namespace cffs
