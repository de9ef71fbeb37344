// Makes the rows of who shares a record, and of where a content is, true again of the files' own rows. For Repair.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/table/member_files.h"
#include "core/table/table.h"

namespace cffs {

class SharingRepair {
 public:
  explicit SharingRepair(Table& table) : table_(table) {}

  // What a scan meets: a file's entry, and the row of a record's files.
  void note(Key key, const Entry& entry);
  void note(CompositeId id, std::uint32_t slot, const MemberFiles& row);
  // A row that the scan could not read, or found under a composite that is not there.
  Status note_damaged(Key key);
  // One file in a record, by its row.
  using Record = std::pair<CompositeId, std::uint32_t>;
  struct Member {
    Record record;
    MemberFile file;  // no name: it has several, and its number leads to it
    Extent extent;
  };
  // When all were noted: by record and number.
  std::vector<Member>& members() { return members_; }
  // Rows of one renamed file each, below a composite that is not there.
  const std::vector<Record>& strays() const { return strays_; }
  // When all were noted. Of a composite's members, each record's once where files share.
  Result<std::map<CompositeId, std::uint64_t>> live_bytes();
  // A sentence for each thing that was mended.
  Result<std::vector<std::string>> run();

 private:
  Status mend_files(Batch& batch);
  Status mend_contents(Batch& batch);
  Status mend_row(Batch& batch);

  Table& table_;
  std::vector<Member> members_;
  std::map<Record, std::vector<MemberFile>> rows_;  // those that several share
  std::vector<Record> strays_;
  bool used_ = false;
  std::vector<std::string> mended_;
};

}  // namespace cffs
