// The regular files below a directory, by name, with where the data of each lies: what a reader of all of them needs to read them in the
// order in which they lie, without a look at each. As the rows said when they were walked: who reads a file later finds out whether
// that still holds (core/batch/batch_reader.h).
//
// Some 100 bytes a file and its name. Thread safety: of a value; reading it by many is safe.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/fs/file_system.h"
#include "core/table/row.h"

namespace cffs {

// Where a file's data was when it was looked at.
struct FilePlace {
  InodeId ino;
  InodeId parent;
  std::uint64_t size = 0;
  Home home = Home::none;
  CompositeId composite;  // home == composite, and so the others
  std::uint64_t offset = 0, checksum = 0, group_offset = 0;
};

FilePlace place_of(const Inode& inode, InodeId parent);

class PlacedFiles {
 public:
  // `path` as find_path() has it, with its errors; it may name one file. What cannot be read of the tree is an error.
  static Result<PlacedFiles> below(FileSystem& fs, const std::string& path);

  std::size_t size() const { return files_.size(); }
  const FilePlace& place(std::size_t i) const { return files_[i].place; }
  std::string path(std::size_t i) const;  // "/" and the names down to it
  std::string_view name(std::size_t i) const {
    return std::string_view(names_).substr(files_[i].name_at, files_[i].name_bytes);
  }
  std::uint64_t bytes() const { return bytes_; }

  // All of them: by the bytes of their paths, or as they lie; those that are in no composite are the last then.
  std::vector<std::uint32_t> by_path() const;
  std::vector<std::uint32_t> as_they_lie() const;

 private:
  struct File {
    FilePlace place;
    std::uint64_t name_at = 0;
    std::uint32_t directory = 0;
    std::uint16_t name_bytes = 0;
  };
  struct Directory {
    InodeId ino;
    std::uint32_t above = kNone;  // with whole paths, a deep tree would take the square of its depth
    std::string name;             // the first: all of its path
  };
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::string path_of(std::uint32_t directory) const;
  // `met`: directories so far; rows of a damaged store may lead in a circle.
  Status walk(FileSystem& fs, std::size_t directory, std::unordered_set<InodeId>& met);
  Status take(FileSystem& fs, std::uint32_t directory, const Entry& entry, std::unordered_set<InodeId>& met);

  std::vector<Directory> directories_;
  std::vector<File> files_;
  std::string names_;
  std::uint64_t bytes_ = 0;
};

// Places of files whose paths are resolved as find_path() does. Of directories it remembers where they are: for one call's worth of
// paths, or as long as nobody changes the tree. By one thread at a time.
class PlaceFinder {
 public:
  explicit PlaceFinder(FileSystem& fs) : fs_(fs) {}
  // EISDIR; EINVAL: no regular file.
  Result<FilePlace> find(const std::string& path);

 private:
  Result<InodeId> directory(std::string_view path, const std::string& file);
  Result<InodeId> directory_in(InodeId parent, std::string_view name, std::string_view path,
                               const std::string& file);
  Result<FilePlace> find_by_link(const std::string& path);

  FileSystem& fs_;
  std::string last_directory_;
  InodeId last_ino_;
  bool has_last_ = false;
  std::unordered_map<std::string, InodeId> directories_;  // by "PARENT/NAME"
};

}  // namespace cffs
