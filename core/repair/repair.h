// Mends what a check finds and can be mended (cffs fsck --repair).
//
// What has lost its place comes back: directories and data of files whose rows are gone appear in the tree's /lost+found, named
// by inode number, objects that no row names in the store's own lost+found/. Counts and accounts are made to agree with
// what is there; names that lead nowhere go. Nothing that can be read is thrown away. What cannot come back (bytes whose checksum
// differs, objects that are missing) is left as it is, and the check that follows names it.
//
// Each mend is a batch of its own, and running it again, also after it was cut short, goes on from there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/used_numbers.h"
#include "core/repair/sharing_repair.h"
#include "core/table/pending_removal.h"
#include "core/table/row.h"

namespace cffs {

// Mends a store that nobody else uses: replays what is whole of its logs, rebuilds its table where files of that are damaged,
// then runs Repair. A sentence for each thing that was mended; none: nothing was to be.
Result<std::vector<std::string>> repair_store(ObjectStore& store, FileSystemOptions options);

class Repair {
 public:
  // The store, opened to be written (FileSystemOptions::keep_what_is_whole) and otherwise idle.
  explicit Repair(FileSystem& fs) : fs_(fs) {}

  // A sentence for each thing that was mended. An error: the table cannot be read to its end, or nothing can be written.
  Result<std::vector<std::string>> run();

 private:
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

  Status look();
  void look_at(Key key, const Entry& entry);
  Status mend_directories();
  Status mend_links();
  Status mend_link_counts();
  Status mend_accounts();
  Status mend_index(CompositeId id);
  Status mend_compression();
  Status mend_sharing();
  Status mend_account(CompositeId id, const Account& account);
  Status rebuild_account(CompositeId id, const Account& account);
  Status mend_data();
  Status find_place_for(InodeId ino);
  Status append_lost(const std::string& name, std::uint64_t offset, std::string_view bytes);
  Status mend_seals();
  Status drop_damaged_catalogue();
  Status keep_lost_objects();
  // --- the store's own notes: repair_bookkeeping.cc ---
  Status mend_counter();
  Status mend_values();
  Status mend_removals();

  Status set_links(Key key, const std::string& name, std::uint64_t links);
  Result<InodeId> lost_and_found();
  void mended(std::string sentence) { mended_.push_back(std::move(sentence)); }

  FileSystem& fs_;
  std::vector<std::string> mended_;
  UsedNumbers numbers_;
  std::set<std::uint64_t> parents_;  // directories that have entries
  std::map<std::uint64_t, Directory> directories_;
  std::map<std::uint64_t, Linked> linked_;
  std::vector<std::tuple<Key, InodeId, std::string>> miscounted_;  // files of one name that count others
  std::unordered_map<std::uint64_t, std::uint64_t> inline_;        // size of each inline file
  std::map<CompositeId, CompositeRow> composites_;
  std::map<CompositeId, Account> accounts_;
  struct Sealed {
    Key row;
    std::string name;  // its entry's
    std::uint64_t size = 0;
  };
  std::map<InodeId, Sealed> sealed_;
  std::set<std::uint64_t> nameless_;               // files that wait for their removal, and no row has them
  std::vector<PendingRemoval> not_to_be_removed_;  // a row names them
  std::optional<SharingRepair> sharing_;           // of what the last look met
  std::set<std::string> wanted_;                   // objects that rows name, or that wait for removal
};

}  // namespace cffs
