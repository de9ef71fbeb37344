// Whether whoever moves or drops a record finds its file: at the place that the record names, or where a row of the record's files says
// (core/table/member_files.h). One composite's records, in order of slots, by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

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
  void check_file(const RecordMeta& record, const CheckedMember& file, const MemberFiles* row);
  void nobodys(std::uint32_t slot, const MemberFiles& row);
  std::string slot_text(std::uint32_t slot) const;

  FileSystem& fs_;
  const CompositeId id_;
  const bool rows_missing_;
  Findings& found_;
  std::map<std::uint32_t, MemberFiles> rows_;  // by slot, of records that have not come yet
};

}  // namespace cffs
