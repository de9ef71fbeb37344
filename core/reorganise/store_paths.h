// Paths in a live store: from a directory's inode to its path, and from a path to a file. For the background work that
// groups files; not for operations, which name inodes.
//
// Takes no locks for longer than one row or node, so what it says may be outdated when it is used: whoever moves a file
// checks again. One of these serves one pass of one thread; it remembers the directories that it has seen.
#pragma once

#include <unordered_map>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "grouping/reference/resolve.h"

namespace cffs {

class StorePaths final : public grouping::FileLookup {
 public:
  explicit StorePaths(FileSystem& fs) : fs_(fs) {}

  // Relative to the root, "" for the root itself; nullopt: the directory is gone. Directories that nobody refers to are
  // found by one scan of the table.
  Result<std::optional<std::string>> path_of(InodeId directory);
  Result<std::optional<std::string>> path_of(const EntryName& at);
  // The file at this path, hard links resolved to their inode; only regular files.
  std::optional<grouping::FileId> find(const std::string& path) override;
  std::optional<grouping::FileId> find_ignoring_case(const std::string& path) override;
  std::vector<grouping::FileId> list(const std::string& directory, std::string_view suffix) override;
  // Where a file was found.
  std::optional<EntryName> name_of(grouping::FileId file) const;

 private:
  struct Found {
    InodeId ino;
    mode_t type = 0;
    std::string name;
  };
  std::optional<Found> entry(InodeId directory, const std::string& name, bool exact) const;
  std::optional<InodeId> directory_at(std::string_view path, bool exact);
  std::optional<grouping::FileId> look(const std::string& path, bool exact);
  Status scan_directories();

  FileSystem& fs_;
  mutable std::size_t spellings_left_ = 1u << 20;  // entries that may be searched for other spellings
  bool scanned_ = false;
  std::unordered_map<std::uint64_t, EntryName> directories_;  // by inode, once scanned
  std::unordered_map<std::string, std::optional<InodeId>> by_path_;
  std::unordered_map<grouping::FileId, EntryName> names_;
};

}  // namespace cffs
