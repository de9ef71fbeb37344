// Rows of the namespace and of composites, and their byte form (docs/ON_DISK_FORMAT.md, "Rows").
//
// All names of a directory with the same hash share one key, so a row holds a list of entries; the full name
// decides. An entry either carries the inode, or says "hard link to inode" (TableFS §3.3). LevelDB checksums
// the bytes; the decoder checks every length and enum and answers `corruption`, never garbage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/table/entry_name.h"
#include "core/table/inode.h"
#include "core/table/key.h"

namespace cffs {

struct Entry {
  std::string name;  // empty in a null-name row
  InodeId ino;
  mode_t type = 0;             // S_IFMT bits, also known for hard links
  std::optional<Inode> inode;  // nullopt: hard link, attributes are in the null-name row of `ino`
};

struct Row {
  std::vector<Entry> entries;  // sorted by name

  const Entry* find(std::string_view name) const;
  Entry* find(std::string_view name);
  void insert(Entry entry);           // the name must not be there
  void erase(std::string_view name);  // the name must be there
};

// What members of a composite share, and its accounting (docs/ON_DISK_FORMAT.md, "Rows").
struct CompositeRow {
  mode_t mode = 0;  // the broadest of its members
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t size = 0;         // bytes of the object
  std::uint64_t live_bytes = 0;   // data of members
  std::uint64_t freed_bytes = 0;  // data nobody names any more
  std::uint64_t members = 0;
  std::uint64_t slots = 0;  // records ever written
  std::uint8_t policy = 0;  // grouping::PolicyId of the policy that made it

  // Half or more of the object is nobody's: worth a compaction.
  bool is_wasteful() const { return freed_bytes * 2 >= size; }
};

std::string encode_row(const Row& row);
// The row of one entry that carries its inode: the usual case, without building a Row.
std::string encode_single_row(std::string_view name, const Inode& inode);
Result<Row> decode_row(std::string_view bytes);
// What a row of the namespace holds. The first byte alone does not tell: a member_files row begins with a directory's number, or what is none.
enum class RowKind { entries, composite, member_files };
RowKind row_kind(Key key, std::string_view bytes);
std::string encode_composite_row(const CompositeRow& row);
Result<CompositeRow> decode_composite_row(std::string_view bytes);

// A place that a composite may have; sums of such places do not overflow.
bool is_possible(const Extent& extent);
// Attributes alone, as composite records carry them.
void encode_inode(std::string& out, const Inode& inode);
Result<Inode> decode_inode(std::string_view bytes);

}  // namespace cffs
