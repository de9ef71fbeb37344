// Paths in a live store: from a directory's inode to its path, and from a path to a file. For the background work that
// groups files; not for operations, which name inodes.
//
// Takes no locks for longer than one row or node, so what it says may be outdated when it is used: whoever moves a file
// checks again. One of these serves one pass of one thread; it remembers the directories that it has seen, in so much memory.
#pragma once

#include <unordered_map>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "grouping/reference/resolve.h"

namespace cffs {

class StorePaths final : public grouping::FileLookup {
 public:
  explicit StorePaths(FileSystem& fs) : fs_(fs) {}

  // Relative to the root, "" for the root itself; nullopt: the directory is gone, or what leads to it cannot be read. Directories that
  // nobody refers to are found by one scan of the table, as they were then.
  Result<std::optional<std::string>> path_of(InodeId directory);
  Result<std::optional<std::string>> path_of(const EntryName& at);
  // The file at this path, hard links resolved to their inode; only regular files.
  std::optional<grouping::FileId> find(const std::string& path) override;
  std::optional<grouping::FileId> find_ignoring_case(const std::string& path) override;
  std::vector<grouping::FileId> list(const std::string& directory, std::string_view suffix) override;
  // Where a file was found.
  std::optional<EntryName> name_of(grouping::FileId file) const;
  // Begins anew with what was found, and may search for as many other spellings as at first; what the scan found stays.
  void forget_files();

 private:
  static constexpr std::size_t kMostSpellings = 1u << 20;  // entries that may be searched for other spellings

  struct Found {
    InodeId ino;
    mode_t type = 0;
    std::string name;
  };
  std::optional<Found> entry(InodeId directory, const std::string& name, bool exact) const;
  std::optional<InodeId> step(InodeId directory, std::string_view name, bool exact);
  std::optional<InodeId> directory_at(std::string_view path, bool exact);
  std::optional<grouping::FileId> look(const std::string& path, bool exact);
  Status scan_directories();

  FileSystem& fs_;
  mutable std::size_t spellings_left_ = kMostSpellings;
  bool scanned_ = false;
  std::unordered_map<std::uint64_t, EntryName> directories_;  // by inode, once scanned
  // From a directory's number, "=" or "~" (the case of letters may differ) and a name: the directory there, or none.
  std::unordered_map<std::string, std::optional<InodeId>> steps_;
  std::size_t steps_bytes_ = 0;
  std::unordered_map<grouping::FileId, EntryName> names_;
};

}  // namespace cffs
