// Whether the rows that say which files share a record, and where a content is to be found, are true of the files' own rows. One that is not
// would have bytes freed that a file has (docs/DEDUPLICATION.md).
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/fs/file_system.h"
#include "core/inspect/object_check.h"
#include "core/table/member_files.h"
#include "core/table/table.h"

namespace cffs {

class SharingCheck {
 public:
  explicit SharingCheck(FileSystem& fs) : fs_(fs), table_(fs.table()) {}

  // A row of a scan.
  void note(CompositeId id, std::uint32_t slot, const MemberFiles& row);
  // Marks the members whose record is another file's, or may be; `by_slot` has all, by composite and slot.
  void mark(std::span<CheckedMember> by_slot) const;
  Result<Findings> run(std::span<const CheckedMember> by_slot) const;

 private:
  using Record = std::pair<CompositeId, std::uint32_t>;
  void check_record(std::span<const CheckedMember> files, Findings& found) const;
  Status check_sharers(std::span<const CheckedMember> by_slot, Findings& found) const;
  Status check_contents(std::span<const CheckedMember> by_slot, Findings& found) const;

  Result<bool> is_there(const MemberFile& file) const;

  FileSystem& fs_;
  const Table& table_;
  std::map<Record, std::vector<MemberFile>> sharers_;
};

}  // namespace cffs
