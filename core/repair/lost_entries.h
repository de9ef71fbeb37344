// What no record of a composite tells of a file whose row is gone, the catalogue does: names of large files, symbolic links, devices, empty
// and inline files, and the further names of files that have several. They get rows again where they were.
//
// Only where durable rows are known to be lost: else what the catalogue has and the table has not was removed. What had been removed between
// the catalogue and the loss comes back as well: nobody can tell the two apart. A name that is there by now is its present owner's; a large file
// whose name is taken, or whose directory is gone, goes to /lost+found, everything else of that kind had been replaced. Content is what
// the store still has, and never made up: a file whose inline data is not whole has no row made for it.
// A member that no record is of, since it shared another file's, comes back where its place has the content still. A row that is older than
// the catalogue shows again what had been replaced: it gets the catalogue's content, or the table's own where that is not of the row's time,
// or is said to be older. What is replaced in the table is kept in /lost+found: it may be newer than both.
//
// Each row is a batch of its own; run again, also after it was cut short, it goes on from there.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/repair/known_numbers.h"
#include "core/repair/lost_names.h"
#include "core/table/batch.h"
#include "core/table/row.h"

namespace cffs {

class LostEntries {
 public:
  struct Report {
    std::vector<std::string> back;  // a sentence for each file, the first of many
    std::vector<std::string> lost;  // the same, for what cannot come back
  };

  // Members have come back before, directories get their rows behind it. `lost_and_found`: as LostMembers'. `keep_data`: puts what the
  // table has of a file into a file there, too.
  LostEntries(FileSystem& fs, const LostNames& catalogue, std::function<Result<InodeId>()> lost_and_found,
              std::function<Status(InodeId)> keep_data)
      : fs_(fs),
        catalogue_(catalogue),
        lost_and_found_(std::move(lost_and_found)),
        keep_data_(std::move(keep_data)) {}

  // An error: the table cannot be read or written.
  Result<Report> run();

 private:
  struct RowOf {  // a regular file's, or a directory's
    Key key;
    std::string name;  // its entry's
    std::uint64_t version = 0;
    std::int64_t ctime_ns = 0;
  };

  Status look_at_rows();
  Status look_at_blobs();
  Status bring_back(const std::optional<EntryName>& at, Inode inode);
  Status bring_back_names(InodeId ino);
  // Sees to what the file holds; false: nothing that could be given a row.
  Result<bool> take_content(Batch& batch, Inode& inode);
  Result<bool> take_blob(Batch& batch, Inode& inode);
  Result<bool> has_member(const Inode& inode) const;
  void give_up(const std::optional<EntryName>& at, const Inode& inode, const char* what);
  Status replace_older(const std::optional<EntryName>& at, const Inode& known);
  Status replace_attributes(const RowOf& there, const Inode& known);
  Result<bool> take_inline_data(Batch& batch, const Inode& inode) const;
  Result<bool> take_newer_inline_data(Batch& batch, const Inode& older, const Inode& known) const;
  Result<std::vector<EntryName>> places_of(const std::optional<EntryName>& at, const Inode& inode);

  FileSystem& fs_;
  const LostNames& catalogue_;
  const std::function<Result<InodeId>()> lost_and_found_;
  const std::function<Status(InodeId)> keep_data_;
  KnownNumbers known_;
  std::unordered_map<std::uint64_t, RowOf> rows_;
  std::unordered_map<std::uint64_t, std::vector<EntryName>> names_;  // that lead to an inode by its number
  std::unordered_map<std::uint64_t, std::uint64_t> counted_;  // names, by the row of a file that has several
  std::map<InodeId, std::string> blobs_;                      // objects that no row names
  std::uint64_t beyond_ = 0;  // files whose numbers the table may give out again
  std::vector<std::string> back_, lost_;
};

}  // namespace cffs
