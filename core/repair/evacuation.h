// The members of a composite whose header or records are damaged move to a new one, with records of their own.
//
// Rows say where members are and what their checksums are, so all of them can be read; but nobody can walk such a composite: it is
// never compacted or packed again, and a salvage finds what it can. A member that is not whole stays where it is, and the composite
// with it: the check names both.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/composite/composite_builder.h"
#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/repair/sharing_repair.h"

namespace cffs {

class Evacuation {
 public:
  // `members`: all that rows name, by record. `names`: of an inode that has several, one.
  using Names = std::map<std::uint64_t, EntryName>;
  Evacuation(FileSystem& fs, const std::vector<SharingRepair::Member>& members, const Names& names)
      : fs_(fs), members_(members), names_(names) {}

  // How many files moved. Where room, memory or descriptors run out, those that had by then.
  Result<std::size_t> run(CompositeId id, std::uint8_t policy);

 private:
  Result<std::vector<FileToMove>> whole_members(CompositeId id) const;
  Result<std::optional<FileToMove>> look(const SharingRepair::Member& member) const;
  // Those that could not share what they are to share are left in `files`. `moved` counts also where it fails.
  Status move(std::vector<FileToMove>& files, std::uint8_t policy, bool may_share, std::size_t& moved);
  Status switch_rows(const CompositeBuilder& builder, std::vector<FileToMove>& files, std::uint8_t policy,
                     std::size_t& moved);

  FileSystem& fs_;
  const std::vector<SharingRepair::Member>& members_;
  const Names& names_;
};

}  // namespace cffs
