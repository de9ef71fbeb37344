// Puts many files into a store at once, for import: straight into composites in policy order, without
// staging.
//
// One load() makes one composite (or, under a policy without composites, table rows) and a few batches.
// Loaders may run in parallel. The parents must stay referenced and must not be removed meanwhile.
#pragma once

#include "core/fs/file_system.h"

namespace cffs {

struct NewFile {
  InodeId parent;
  std::string name;
  Inode inode;  // mode, owner, times, xattrs; number, size and home are set by load()
  std::string content;
};

class BulkLoader {
 public:
  explicit BulkLoader(FileSystem& fs) : fs_(fs) {}

  // Largest file that load() takes; larger ones go through mknod and write.
  std::uint64_t largest() const;
  // Returns the names that were taken already; those files were left out. The rows are
  // durable after FileSystem::sync().
  Result<std::vector<std::string>> load(std::vector<std::vector<NewFile>> groups);
  // Every inode made from now on has at least this number.
  std::uint64_t next_inode_hint() const { return fs_.counter_->peek(); }

 private:
  Status insert(std::span<NewFile*> files, const CompositeBuilder* builder, std::vector<std::string>& taken);

  FileSystem& fs_;
};

}  // namespace cffs
