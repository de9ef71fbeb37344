// Members of composites whose rows are gone get rows again, from the records: where they lie, not as copies.
//
// A record outlives the file that it was written for, so records are believed only where rows are known to be missing: where the table lost
// some, or a composite's account counts other members than rows name. Of several records of one file the newest whole one counts. A file that has a row,
// wherever its data is, keeps it, and one that awaits its removal stays removed. A file that was removed before may come back
// where others of its composite are missing: records do not tell the two apart. A catalogue that is whole does, of what was removed before it was
// written; and of what it has and no newer record tells it knows the name (core/table/catalogue.h).
//
// A table that lost some of its files shows rows again that later ones had replaced. A row that is older than its file's record, or leads to where
// its data no longer is, gets the record's data (older_rows.cc).
//
// Each row is a batch of its own; run again, also after it was cut short, it goes on from there.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/repair/known_numbers.h"
#include "core/repair/lost_names.h"
#include "core/table/batch.h"
#include "core/table/member_files.h"
#include "core/table/row.h"

namespace cffs {

class LostMembers {
 public:
  struct Report {
    std::vector<std::string> back;  // a sentence for each file, the first of many
    std::vector<std::string> lost;  // the same, for what cannot come back
    std::uint64_t named = 0;        // of those that are back, by the catalogue
  };

  // `rows_were_lost`: the table could not be read whole. `catalogue`: asked for where there is something to name. `lost_and_found`: where files
  // go whose place is taken.
  LostMembers(FileSystem& fs, bool rows_were_lost, std::function<const LostNames&()> catalogue,
              std::function<Result<InodeId>()> lost_and_found)
      : fs_(fs),
        rows_were_lost_(rows_were_lost),
        catalogue_(std::move(catalogue)),
        lost_and_found_(std::move(lost_and_found)) {}

  // An error: the table cannot be read or written.
  Result<Report> run();

 private:
  struct Found {  // a record, or a guest of one
    std::string object;
    EntryName at;
    Inode inode;
    EntryName own;            // what the record itself says
    bool is_renamed = false;  // `at` is a row's word
    bool is_guest = false;    // another file's record, whose version says nothing of this one
    // As in a salvage: the clock may be a coarse one.
    auto age() const {
      return std::tuple(inode.ctime_ns, inode.version, inode.extent.composite, inode.extent.offset);
    }
  };
  using Slot = std::pair<CompositeId, std::uint32_t>;

  Status look_at_rows();
  Status look_at_objects();
  bool may_be_behind(CompositeId id) const;
  bool is_behind(CompositeId id, std::uint64_t bytes_of_records) const;
  Status look_into(const std::string& object, CompositeId id);
  void note(Found found);
  Status look_at_catalogue();
  // --- older_rows.cc ---
  void note_newer(Found found);
  Status replace_older_rows();
  Status replace_row(Key key, const std::string& name, std::vector<Found>& found);
  Status bring_back(InodeId ino, std::vector<Found>& found);
  Result<bool> is_whole(const Found& found) const;
  Status take_back_object(Found& found);
  Status put_row(const Found& found);
  Result<EntryName> place_of(const Found& found);
  Result<std::vector<EntryName>> names_of(InodeId ino);
  void tell_place(Batch& batch, const Found& found, const EntryName& at, Inode& inode);
  void tell_lost(const std::vector<Found>& found);
  Inode inode_of(const Found& found) const;

  FileSystem& fs_;
  const bool rows_were_lost_;
  const std::function<const LostNames&()> catalogue_;
  const std::function<Result<InodeId>()> lost_and_found_;
  KnownNumbers known_;
  std::map<InodeId, std::vector<EntryName>> names_;  // that lead to an inode by its number
  std::map<CompositeId, std::int64_t> missing_;      // members that the account counts and no row names
  std::map<CompositeId, CompositeRow> accounts_;
  std::map<Slot, MemberFiles> files_;
  std::set<Slot> used_;
  std::set<std::string> removed_;  // objects that wait for removal
  std::map<InodeId, std::vector<Found>> found_;
  struct RowOf {  // a regular file's
    std::uint64_t version = 0;
    CompositeId composite;  // of a member
    std::uint32_t slot = 0;
  };
  std::unordered_map<std::uint64_t, RowOf> rows_;  // by inode; where rows were lost
  std::map<InodeId, std::vector<Found>> newer_;    // than the file's row, or as new and elsewhere
  struct Known {                                   // by the catalogue
    EntryName at;
    std::pair<std::int64_t, std::uint64_t> age;  // ctime, version
  };
  std::map<InodeId, Known> catalogued_;  // of found_, those that have one name
  std::map<InodeId, Inode> guests_;      // of found_, members by the catalogue
  std::uint64_t named_ = 0;
  std::vector<std::string> back_, lost_;
};

}  // namespace cffs
