// Has whoever moves or drops a record of a composite find its file: rows of records' files (core/table/member_files.h) say where those are
// that are not where the record says. For Repair.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/composite/record.h"
#include "core/fs/file_system.h"
#include "core/repair/sharing_repair.h"
#include "core/table/member_files.h"
#include "core/table/row.h"

namespace cffs {

class MemberPlaces {
 public:
  // What the records say, of a composite that was looked at.
  struct Records {
    bool whole = false;  // all could be read, and those of all members are among them
    std::uint64_t slots = 0;
    std::uint64_t bytes = 0;
  };

  // `by_record`: all members, in order. A sentence for each thing that was mended goes to `mended`.
  MemberPlaces(FileSystem& fs, std::span<const SharingRepair::Member> by_record,
               std::vector<std::string>& mended)
      : fs_(fs), members_(by_record), mended_(mended) {}

  // Makes the rows of one composite's records true. Each row is a batch of its own.
  Result<Records> run(CompositeId id, const CompositeRow& row);
  // A row of a composite that is not there.
  Status drop_stray(const SharingRepair::Record& record);

 private:
  using Members = std::span<const SharingRepair::Member>;
  Members files_of(CompositeId id, std::uint32_t slot) const;
  bool is_within(CompositeId id, std::uint64_t slots) const;
  Status drop_nobodys(CompositeId id);
  Status mend(const RecordMeta& record, const SharingRepair::Member& member);
  Status put(const SharingRepair::Member& member, const MemberFiles& row, bool renamed);

  FileSystem& fs_;
  const Members members_;
  std::vector<std::string>& mended_;
  std::map<std::uint32_t, MemberFiles> rows_;  // of one composite, by slot
};

}  // namespace cffs
