// Whether a store's rows, composites, blobs and other objects agree with each other, and whether all of it can be read.
//
// Reads every row of the table, every composite's header and records, every byte of every member and blob, the superblock
// (to open the store) and the plan; not the access record, whose damaged blocks are passed over by design. Changes
// nothing. What it finds is a list of sentences, each of which names the inode, object or row concerned.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/work_step.h"
#include "core/fs/file_system.h"
#include "core/fs/used_numbers.h"
#include "core/inspect/object_check.h"
#include "core/inspect/sharing_check.h"
#include "core/table/row.h"

namespace cffs {

struct CheckOptions {
  unsigned workers = 1;    // threads that read objects
  WorkTeller on_progress;  // from any thread, from one at a time; may be null
};

class ConsistencyCheck {
 public:
  // The file system must be quiet: what changes meanwhile may be reported.
  explicit ConsistencyCheck(FileSystem& fs, CheckOptions options = {})
      : fs_(fs), options_(std::move(options)), sharing_(fs) {}

  // Every contradiction and every piece of damage; empty: none. Where the table cannot be read to its end, that is said, and
  // what would only follow from missing rows is not. Takes about 150 bytes of memory a file.
  Result<std::vector<std::string>> run();

 private:
  struct Links {
    std::uint64_t counted = 0;  // what the inode says
    std::uint64_t found = 0;    // names, or for directories 2 and one for each directory in it
    bool has_row = false;
    std::uint64_t parent = 0;  // of a directory
  };
  struct InlineFile {
    std::uint64_t ino = 0, size = 0;
    std::uint64_t stored = 0;  // bytes in data rows
    bool told = false;
  };
  struct Composite {
    CompositeId id;
    const CompositeRow* row = nullptr;  // null: members name one that has none
    std::span<const CheckedMember> members;
  };

  Status collect();
  void note_entry(Key key, const Entry& entry);
  void note_inode(Key key, const Inode& inode);
  void sort();
  Status check_table();
  void check_inodes();
  void check_count();
  void check_directories();
  void check_circles();
  void check_hard_links();
  void check_accounts();
  Status check_sharing();
  Status check_contents();
  Status collect_nameless();
  Status check_data_rows();
  Status check_other_rows();
  Status check_packing();
  Status check_objects();
  Status check_hints();
  // --- a row against its key, and its place in a composite: consistency_places.cc ---
  void check_key(Key key, const Entry& entry);
  void note_member(Key key, const Inode& inode);
  void check_groups();
  // --- the store's own notes: consistency_bookkeeping.cc ---
  Status check_counter();
  Status check_values();
  void check_removals(const std::set<std::string>& wanted);

  std::vector<std::string> sentences();
  void progress(const WorkStep& step) const {
    if (options_.on_progress) options_.on_progress(step);
  }
  void report(std::string sentence) { found_.push_back({{}, std::move(sentence)}); }
  // What could not be read. Descriptors or memory that were short for it say nothing about it.
  Status report(const Error& error) {
    if (error.is_shortage()) return fail(error);
    report(error.message());
    return {};
  }
  void report(std::uint64_t ino, std::string what) { found_.push_back({InodeId{ino}, std::move(what)}); }

  FileSystem& fs_;
  const CheckOptions options_;
  bool rows_missing_ = false;
  Findings found_;
  UsedNumbers numbers_;
  std::vector<std::uint64_t> inodes_;                     // one for each row that has one
  std::vector<std::uint64_t> parents_;                    // directories that have entries
  std::unordered_map<std::uint64_t, Links> directories_;  // by inode
  std::unordered_map<std::uint64_t, Links> linked_;  // inodes with a null-name row, or names that lead to one
  std::vector<InlineFile> inline_;                   // by inode, once all are known
  std::map<CompositeId, CompositeRow> rows_;
  struct Furthest {  // the group that ends last, of what rows name in a composite
    std::uint64_t end = 0;
    InodeId ino;
  };
  std::map<CompositeId, Furthest> furthest_;
  std::vector<CheckedMember> members_;  // by composite and slot, once all are known
  SharingCheck sharing_;
  std::vector<CheckedBlob> blobs_;
  std::vector<Composite> composites_;    // of rows_ and members_
  std::set<std::string> pending_;        // objects that wait for removal
  std::vector<std::uint64_t> nameless_;  // files that do
};

inline Result<std::vector<std::string>> find_inconsistencies(FileSystem& fs, CheckOptions options = {}) {
  return ConsistencyCheck(fs, std::move(options)).run();
}

}  // namespace cffs
