// Where a content is that other files may share: one row for each member of a store that shares, by length and checksum of its data.
//
// A hint about contents, and a fact about the extent: while the row names a record, some file has it; the batch that takes the last file
// from a record takes the row. All that change a row that names a composite hold that composite's stripe. Two contents with one key, and
// two records with one content, share the row: the later counts, and the earlier is found by nobody any more.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/table/inode.h"
#include "core/table/key.h"

namespace cffs {

// Smaller members are written again rather than shared: a reader of them waits for the way to another place, which takes longer than
// their bytes. Bytes.
inline constexpr std::uint64_t kLeastShared = 4096;

struct ContentRow {
  Extent extent;  // without `moved`
  InodeId owner;  // of the record, where it has no row of files (member_files.h)
};

// 120 bits: the length's lower 56, XXH3-64.
Key content_key(std::uint64_t length, std::uint64_t checksum);
inline Key content_key(const Extent& extent) { return content_key(extent.length, extent.checksum); }
// What the key says is not in the row.
std::string encode_content_row(const ContentRow& row);
Result<ContentRow> decode_content_row(Key key, std::string_view bytes);

}  // namespace cffs
