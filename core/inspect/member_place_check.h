// Whether whoever moves or drops a record finds its file: at the place that the record names, or where a row of the record's files says
// (core/table/member_files.h). One composite's records, in order of slots, by one thread.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/composite/record.h"
#include "core/inspect/object_check.h"
#include "core/table/member_files.h"

namespace cffs {

class MemberPlaceCheck {
 public:
  MemberPlaceCheck(FileSystem& fs, CompositeId id, bool rows_missing, Findings& found);

  void look(const RecordMeta& record, std::span<const CheckedMember> files);
  // Behind the last record: rows that are left are of none.
  void end();

 private:
  using Row = std::pair<std::uint32_t, MemberFiles>;
  void check_file(const RecordMeta& record, const CheckedMember& file, const MemberFiles* row);
  void nobodys(const Row& row);
  std::string slot_text(std::uint32_t slot) const;

  FileSystem& fs_;
  const CompositeId id_;
  const bool rows_missing_;
  Findings& found_;
  std::vector<Row> rows_;  // by slot
  std::size_t next_ = 0;
};

}  // namespace cffs
