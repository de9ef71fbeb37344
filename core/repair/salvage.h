// What composites and blobs tell by themselves, where the table is gone: a new store is filled from the objects of a lost one.
//
// A composite's records carry name, attributes and data of each member, but of its directory the number alone: files come back as
// /#DIRECTORY/NAME, those of the root under their own names. A blob carries nothing but its number: /#blobs/NUMBER. Records outlive the files that they
// were written for, until a compaction: what had been removed or replaced may come back too; of several records of one file the newest whole one
// counts. Inline data was in the table, and is gone. The lost store is only read.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/composite/record.h"
#include "core/fs/file_system.h"

namespace cffs {

struct SalvageReport {
  std::uint64_t files = 0, bytes = 0;
  std::uint64_t older = 0;        // of which only an earlier content is whole
  std::vector<std::string> lost;  // a sentence for each file, or part of an object, that cannot come back
};

class Salvage {
 public:
  using Progress = std::function<void(const std::string&)>;
  // `to` is open to be written, new, and nobody else's.
  Salvage(ObjectStore& from, FileSystem& to, Progress progress)
      : from_(from), to_(to), progress_(std::move(progress)) {}

  // An error: the new store cannot be written, or the objects of the old one cannot be listed.
  Result<SalvageReport> run();

 private:
  struct Found {  // a record
    std::string object;
    std::uint64_t at = 0, bytes = 0;  // of the record
    // How new it is: the clock may be a coarse one, and a moved record has the version of what it was moved from.
    std::tuple<std::int64_t, std::uint64_t, std::uint64_t, std::uint64_t>
        age;  // ctime, version, composite, at
  };

  Status look_into(const std::string& object);
  Status bring_back(InodeId ino, const std::vector<Found>& newest_first);
  Result<bool> bring_back(const Found& found);
  Status bring_back_blob(const std::string& object);
  Result<InodeId> directory(const std::string& name);
  Status set_attributes(InodeId file, const Inode& inode);

  ObjectStore& from_;
  FileSystem& to_;
  const Progress progress_;
  SalvageReport report_;
  std::map<InodeId, std::vector<Found>> records_;
  std::map<std::string, InodeId> directories_;
};

}  // namespace cffs
