// What one look at all rows met, as far as a repair needs it. For Repair.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/used_numbers.h"
#include "core/repair/sharing_repair.h"
#include "core/table/pending_removal.h"
#include "core/table/row.h"

namespace cffs {

class RowSurvey {
 public:
  struct Directory {
    bool has_row = false;
    Key row;
    std::string name;  // its entry's
    std::uint64_t counted = 0;
    std::uint64_t subdirectories = 0;
  };
  struct Linked {
    bool has_row = false;
    std::uint64_t counted = 0;
    std::vector<std::pair<Key, EntryName>> names;
  };
  struct Account {
    std::uint64_t members = 0;
    std::uint64_t live_bytes = 0;
    CompositeRow widest;  // mode and owner of the members
  };

  explicit RowSurvey(FileSystem& fs) : sharing(fs.table()), fs_(fs) {}
  // Once. An error: the table cannot be read to its end.
  Status run();

  UsedNumbers numbers;
  std::uint64_t files = 0;          // inodes, of whatever kind
  std::set<std::uint64_t> parents;  // directories that have entries
  std::map<std::uint64_t, Directory> directories;
  std::map<std::uint64_t, Linked> linked;
  std::vector<std::tuple<Key, InodeId, std::string>> miscounted;  // files of one name that count others
  std::unordered_set<std::uint64_t> regular;                      // files that have a row
  std::unordered_map<std::uint64_t, std::uint64_t> inline_sizes;  // size of each inline file
  std::map<CompositeId, CompositeRow> composites;
  std::map<CompositeId, Account> accounts;
  struct Misplaced {  // an entry below another key than its own
    Key row;
    std::string name;
    InodeId ino;
    bool has_inode = false;
  };
  std::vector<Misplaced> misplaced;
  struct Sealed {
    Key row;
    std::string name;  // its entry's
    std::uint64_t size = 0;
  };
  std::map<InodeId, Sealed> sealed;
  std::set<std::uint64_t> nameless;               // files that wait for their removal, and no row has them
  std::vector<PendingRemoval> not_to_be_removed;  // a row names them
  SharingRepair sharing;
  std::set<std::string> wanted;  // objects that rows name, or that wait for removal

 private:
  void note(Key key, const Entry& entry);

  FileSystem& fs_;
};

}  // namespace cffs
