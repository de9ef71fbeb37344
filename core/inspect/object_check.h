// The part of the check that reads objects: composites with their records and members, blobs. Several threads may check
// different objects at a time.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/fs/file_system.h"
#include "core/table/row.h"
#include "core/table/row_marks.h"

namespace cffs {

// What is wrong, and with which inode, whose name comes before it: " has two rows", ": its record is not of it". Inode 0: a whole
// sentence.
struct Finding {
  InodeId ino;
  std::string what;
};
using Findings = std::vector<Finding>;

// A file in a composite, as its row has it. There is one for each of a store's: as few bytes as will do.
struct CheckedMember {
  InodeId ino;
  CompositeId composite;
  std::uint64_t offset = 0, checksum = 0;
  std::uint32_t length = 0;  // no member has more: kMemberMax
  std::uint32_t slot = 0;
  std::uint32_t place = 0;                 // place_mark() of where its row is
  std::uint32_t room : kRoomMarkBits = 0;  // room_mark() of what its row says
  bool is_linked : 1 = false;              // several names: it is found by its number
  bool is_renamed : 1 = false;             // since the record was written, says its row
  bool is_shared : 1 = false;              // its record may be another file's
};
static_assert(sizeof(CheckedMember) == 48);
struct CheckedBlob {
  InodeId ino;
  std::uint64_t size = 0;
  bool sealed = false;
};

// What the members of one composite have of it, each record's once where files share.
std::uint64_t live_bytes(std::span<const CheckedMember> by_slot);

// An error: descriptors or memory were short for a read.
class ObjectCheck {
 public:
  explicit ObjectCheck(FileSystem& fs) : fs_(fs) {}

  // The header, every record, and of each member that its record is the one that its row means, and its bytes. `row` null:
  // it has none. An object that is missing is not reported, unless members want it. `rows_missing`: nothing is concluded from a row that
  // is not there.
  Result<Findings> composite(CompositeId id, const CompositeRow* row, std::span<const CheckedMember> by_slot,
                             bool rows_missing) const;
  // The size, and every byte that is not in a hole; of a sealed blob against its checksums, holes too where these know of
  // data. A missing object is not reported.
  Result<Findings> blob(const CheckedBlob& file) const;

 private:
  class Composite;
  Status read_blob(const CheckedBlob& file, Findings& found) const;
  Status check_sums(const CheckedBlob& file, const Object& object, Findings& found) const;

  FileSystem& fs_;
};

}  // namespace cffs
