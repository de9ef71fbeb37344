// Where the data of the files below some paths is.
#pragma once

#include <functional>
#include <map>
#include <unordered_set>
#include <vector>

#include "core/fs/file_system.h"
#include "core/table/row.h"

namespace cffs {

class PlacedData {
 public:
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  // Everything below the file at a path of the store.
  Status add(FileSystem& fs, const std::string& path, const std::function<bool()>& go_on);

  std::uint64_t names = 0, directories = 0;
  std::map<CompositeId, std::vector<Range>> composites;       // plain bytes
  std::map<InodeId, std::uint64_t> blobs;                     // and their bytes
  std::vector<std::pair<InodeId, std::string>> inline_files;  // directory, name
  bool has_root = false;
  std::function<void(const Inode&)> on_file;  // told of each regular file, where it is set

 private:
  void come_to(FileSystem& fs, InodeId directory, const Entry& entry, std::vector<InodeId>& coming);
  void place(const Inode& inode);
  std::unordered_set<InodeId> seen_;  // directories, and files with several names
};

}  // namespace cffs
