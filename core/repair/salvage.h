// What the catalogue, composites and blobs tell by themselves, where the table is gone: a new store is filled from the objects of a lost one.
//
// Three know something. The catalogue (core/table/catalogue.h) has names and attributes of everything, as of its moment. A composite's records
// carry name, attributes and data of each member, but of its directory the number alone, and outlive the files that they were written for, until
// a compaction: of several records of one file the newest whole one counts. A blob carries nothing but its number.
//
// Of a file that the catalogue knows, the newer word counts, by the time of the inode's last change: the catalogue's, or a record's. Its
// data is its blob's where there is one, else a record's, or what the catalogue has of it. What came after the catalogue goes where the
// catalogue says that its directory is, else to /#DIRECTORY/NAME and /#blobs/NUMBER, which is where everything goes without a catalogue. Records of files
// that had been removed before the catalogue was made go to /#removed. The lost store is only read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/composite/record.h"
#include "core/repair/lost_names.h"
#include "core/repair/new_tree.h"
#include "core/repair/second_reads.h"

namespace cffs {

struct SalvageReport {
  std::uint64_t files = 0, bytes = 0;    // with data or without; without directories
  std::uint64_t directories = 0;         // that have their names
  std::uint64_t older = 0;               // files of which only an earlier content is whole
  std::uint64_t removed = 0;             // that had been removed before the catalogue was made
  std::optional<std::int64_t> names_ns;  // when the catalogue was made; none: there is none
  std::vector<std::string> lost;  // a sentence for each file, or part of an object, that cannot come back
  std::vector<std::string>
      uncertain;  // the same for what is back without its name, or is not what the catalogue says
};

class Salvage {
 public:
  using Progress = std::function<void(const std::string&)>;
  // `to` is open to be written, new, and nobody else's.
  Salvage(ObjectStore& from, FileSystem& to, Progress progress);

  // An error: the new store cannot be written, or the objects of the old one cannot be listed.
  Result<SalvageReport> run();

 private:
  // How new it is: the clock may be a coarse one, and a moved record has the version of what it was moved from.
  using Age =
      std::tuple<std::int64_t, std::uint64_t, std::uint64_t, std::uint64_t>;  // ctime, version, composite, at
  struct Found {                                                              // a record
    std::string object;
    std::uint64_t at = 0, bytes = 0;  // of the record
    Age age;
    std::int64_t ctime_ns() const { return std::get<0>(age); }
    std::uint64_t version() const { return std::get<1>(age); }
  };
  struct Whole {  // a record that is whole
    EntryName at;
    Inode inode;
    std::string data;
    bool newest = false;  // no other record of the file has a later content
  };

  void look_at_names();
  Status look_at_records();
  Status look_at_blobs();
  Result<std::shared_ptr<Object>> open(const std::string& object) const;
  Status look_into(const std::string& object);
  Status bring_back_known(const std::optional<EntryName>& at, const Inode& inode);
  Status bring_back_content(const std::vector<EntryName>& places, const Inode& known, const Inode& inode,
                            std::optional<Whole> record);
  Status bring_back_unknown(InodeId ino, const Whole& record);
  Status bring_back_records();
  Status bring_back_nameless_blob(const std::string& object);
  std::vector<EntryName> places_of(const std::optional<EntryName>& at, InodeId ino) const;
  Result<std::optional<Whole>> newest_record(InodeId ino);
  Result<std::optional<Whole>> shared_record(const Inode& known) const;
  Result<std::optional<Whole>> known_member(const Inode& known) const;
  static Result<std::optional<Whole>> not_whole(const Error& error);
  Result<std::optional<Whole>> read_record(const Found& found) const;
  bool was_removed(InodeId ino, std::int64_t ctime_ns) const;
  // Makes it, and counts it; what only this file cannot have is told.
  Status make(const std::vector<EntryName>& places, const Inode& inode,
              const std::function<Status(InodeId)>& fill);
  Status made(const Status& made, InodeId lost);
  Status fill(InodeId file, std::string_view data);
  Status fill_from_blob(InodeId file, const std::string& object);
  void compare_size(const Inode& known, const std::string& object);
  void lost(InodeId ino, const std::optional<EntryName>& at, const std::string& what);

  SecondReads reread_;
  ObjectStore& from_;  // read by it
  FileSystem& to_;
  const Progress progress_;
  SalvageReport report_;
  const LostNames names_;
  NewTree tree_;
  std::map<InodeId, std::vector<Found>> records_;  // newest first; without those that are back
  using Content = std::pair<std::uint64_t, std::uint64_t>;  // length, checksum
  std::map<Content, std::vector<Found>> contents_;          // records of what several files may share
  std::map<InodeId, std::string> blobs_;           // objects, the same
  std::vector<std::string> kept_blobs_;            // of lost+found
};

}  // namespace cffs
