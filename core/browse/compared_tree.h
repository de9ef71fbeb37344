// A tree of files, for who holds one against another: in a store, or a directory of this machine. It is gone through like a maze, one
// directory at a time: who compares enters both trees together. Names of the calls are entries of the directory that was entered last;
// before that "" is the start itself. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/browse/tree_walk.h"
#include "core/table/inode.h"

namespace cffs {

// The content of a file that was opened.
class TreeData {
 public:
  virtual ~TreeData() = default;
  // Bytes read; fewer only at the end.
  virtual Result<std::size_t> read(std::uint64_t offset, Bytes out) = 0;
};

class ComparedTree {
 public:
  virtual ~ComparedTree() = default;
  virtual const Attributes& start() const = 0;  // st_ino and the like mean nothing beyond the tree
  // By name; without "." and "..".
  virtual Result<std::vector<ListedEntry>> enter(const std::string& directory) = 0;
  virtual Status leave() = 0;
  virtual Result<std::unique_ptr<TreeData>> open(const std::string& file) = 0;
  virtual Result<std::string> target(const std::string& link) = 0;
  // ACLs among them; sorted.
  virtual Result<Xattrs> xattrs(const std::string& file, mode_t mode) = 0;
};

// `path` is followed to its end, `name` is what errors call it (tree_path.h); `fs` must outlive the tree.
Result<std::unique_ptr<ComparedTree>> compared_store_tree(FileSystem& fs, const std::string& path,
                                                          const std::string& name);
// The same of a path of this machine. Nothing below it is followed.
Result<std::unique_ptr<ComparedTree>> compared_directory(const std::string& path);

}  // namespace cffs
