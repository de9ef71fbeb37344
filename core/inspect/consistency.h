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

#include "core/fs/file_system.h"
#include "core/table/row.h"

namespace cffs {

class ConsistencyCheck {
 public:
  // The file system must be quiet: what changes meanwhile may be reported.
  explicit ConsistencyCheck(FileSystem& fs) : fs_(fs) {}

  // Every contradiction and every piece of damage; empty: none. Where the table cannot be read to its end, that is said, and
  // what would only follow from missing rows is not.
  Result<std::vector<std::string>> run();

 private:
  // A file whose data is an object's, or part of one.
  struct File {
    std::string who;  // "inode 7 'name'"
    Inode inode;
  };
  struct Links {
    std::uint64_t counted = 0;  // what the inode says
    std::uint64_t found = 0;    // names, or for directories 2 and one for each directory in it
    bool has_row = false;
    std::uint64_t parent = 0;  // of a directory
  };

  Status collect();
  void note_entry(Key key, const Entry& entry);
  void note_inode(const std::string& who, const Inode& inode);
  void check_table();
  void check_count();
  void check_directories();
  void check_circles();
  void check_hard_links();
  void check_accounts();
  void check_composites();
  void check_records(CompositeId id, const CompositeRow& row, const std::vector<const File*>& members);
  void check_member(const File& file);
  void check_blobs();
  void check_blob(const File& file);
  void check_sums(const File& file, const Object& object);
  Status check_data_rows();
  Status check_other_rows();
  Status check_objects();
  void check_plan();
  void report(std::string sentence) { found_.push_back(std::move(sentence)); }

  FileSystem& fs_;
  bool rows_missing_ = false;
  std::vector<std::string> found_;
  std::set<std::uint64_t> inodes_;
  std::set<std::uint64_t> parents_;                       // directories that have entries
  std::unordered_map<std::uint64_t, Links> directories_;  // by inode
  std::unordered_map<std::uint64_t, Links> linked_;  // inodes with a null-name row, or names that lead to one
  std::unordered_map<std::uint64_t, std::uint64_t> inline_;  // size of each inline file
  std::map<CompositeId, CompositeRow> composites_;
  std::map<CompositeId, std::vector<File>> members_;
  std::vector<File> blobs_;
  std::set<std::string> pending_;  // objects that wait for removal
};

inline Result<std::vector<std::string>> find_inconsistencies(FileSystem& fs) {
  return ConsistencyCheck(fs).run();
}

}  // namespace cffs
