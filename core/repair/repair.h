// Mends what a check finds and can be mended (cffs fsck --repair).
//
// What has lost its place comes back: directories and data of files whose rows are gone appear in the tree's /lost+found, named
// by inode number, objects that no row names in the store's own lost+found/. Counts and accounts are made to agree with
// what is there; names that lead nowhere go. Where there is a catalogue, it tells the names of what has lost its own, and never of what it
// would put over a name that is there. Nothing that can be read is thrown away. What cannot come back (bytes whose checksum
// differs, objects that are missing) is left as it is, and the check that follows names it.
//
// Each mend is a batch of its own, and running it again, also after it was cut short, goes on from there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/fs/file_system.h"
#include "core/repair/lost_names.h"
#include "core/repair/member_places.h"
#include "core/repair/row_survey.h"
#include "core/table/row.h"

namespace cffs {

// Mends a store that nobody else uses: replays what is whole of its logs, rebuilds its table where files of that are damaged,
// then runs Repair. A sentence for each thing that was mended; none: nothing was to be.
// `lost`, where it is given: a sentence for each thing that is known to be lost, and that no check will name.
Result<std::vector<std::string>> repair_store(ObjectStore& store, FileSystemOptions options,
                                              std::vector<std::string>* lost = nullptr);

class Repair {
 public:
  // The store, opened to be written (FileSystemOptions::keep_what_is_whole) and otherwise idle.
  // What of its table could not be read: nothing, what no sync had made durable, or more.
  enum class Lost { nothing, tail, rows };
  explicit Repair(FileSystem& fs, Lost what = Lost::nothing) : fs_(fs), what_(what) {}

  // A sentence for each thing that was mended. An error: the table cannot be read to its end, or nothing can be written.
  Result<std::vector<std::string>> run();
  // Behind run(): what cannot come back, and what no check names any more.
  const std::vector<std::string>& lost() const { return lost_; }

 private:
  Status look();
  Status bring_back_members();
  Status bring_back_entries();
  void tell_missing_members();
  Status mend_directories();
  Status give_row(InodeId directory);
  Status bring_back_empty_directories();
  Status put_directory(InodeId ino, const EntryName& at, Inode inode);
  Result<std::optional<EntryName>> catalogued_place(InodeId directory);
  bool leads_to_itself(InodeId directory, InodeId parent) const;
  Status mend_links();
  Status mend_link_counts();
  Status mend_compression();
  Status mend_sharing();
  Status mend_data();
  Status keep_data(InodeId ino);
  Status find_place_for(InodeId ino);
  Result<bool> was_removed(InodeId ino);
  Status drop_data(InodeId ino, const char* why);
  Status append_lost(const std::string& name, std::uint64_t offset, std::string_view bytes);
  Status mend_seals();
  Status drop_damaged_catalogue();
  Status keep_lost_objects();
  // --- composites: repair_accounts.cc ---
  Status mend_accounts();
  Status mend_index(CompositeId id);
  Status mend_account(CompositeId id, const RowSurvey::Account& account,
                      const MemberPlaces::Records& records);
  Status rebuild_account(CompositeId id, const RowSurvey::Account& account);
  Status mend_rooms();
  Status move_out_of_broken();
  // --- entries below a key that is not theirs: repair_misplaced.cc ---
  Status mend_misplaced();
  Status put_in_place(const RowSurvey::Misplaced& misplaced);
  Result<bool> is_free(Key key, const std::string& name) const;
  // --- the store's own notes: repair_bookkeeping.cc ---
  Status mend_counter();
  Status mend_file_count();
  Status mend_values();
  Status mend_removals();

  Status set_links(Key key, const std::string& name, std::uint64_t links);
  Result<InodeId> lost_and_found();
  const LostNames& catalogue();
  void mended(std::string sentence) { mended_.push_back(std::move(sentence)); }

  FileSystem& fs_;
  const Lost what_;
  std::vector<std::string> mended_, lost_;
  std::optional<RowSurvey> met_;                                 // by the last look
  std::optional<LostNames> catalogue_;                           // once it was needed
  std::optional<std::unordered_set<std::uint64_t>> catalogued_;  // files of it, once they were needed
  std::set<std::uint64_t> being_given_;                          // directories whose row is being made
  std::set<CompositeId> broken_;  // composites whose header or records are damaged
  std::uint64_t named_ = 0;       // files and directories, by the catalogue
};

}  // namespace cffs
