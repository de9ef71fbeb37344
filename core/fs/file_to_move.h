// A regular file whose data is to be elsewhere, as it was when somebody looked at it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/table/entry_name.h"
#include "core/table/inode.h"
#include "core/table/key.h"

namespace cffs {

struct FileToMove {
  Key row_key;
  EntryName at;                   // the row's own name where row_key is a name row
  Inode inode;                    // its long parts once read
  std::string content;            // once read
  bool content_before = false;    // not read: its record is that of the file before it, which has the content
  std::size_t extent_number = 0;  // which of the builder's extents holds the content now
  bool shares_extent = false;     // another of the builder's files was there before
  std::optional<Extent> twin;     // a member that is there and has the same content, to be shared
};

// Nobody has changed or moved the content between two looks.
inline bool same_content(const Inode& a, const Inode& b) {
  return a.version == b.version && a.home == b.home && a.size == b.size && a.extent == b.extent;
}

}  // namespace cffs
