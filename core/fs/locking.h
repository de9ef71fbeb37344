// The guards that operations compose: ranks 2 to 4 of docs/CONCURRENCY.md. Private to core/fs.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/fs/node.h"
#include "core/table/row_locks.h"

namespace cffs {

// Locks a node for a change of its attributes or data: the stripe of its inode row, that of its composite's row (the extent
// may be freed), then the node. Where the node moved meanwhile, tries again.
class CFFS_SCOPED_CAPABILITY NodeUpdate {
 public:
  NodeUpdate(RowLocks& locks, Node& node) CFFS_ACQUIRE(node.mutex, row_stripes);
  ~NodeUpdate() CFFS_RELEASE();
  NodeUpdate(const NodeUpdate&) = delete;
  NodeUpdate& operator=(const NodeUpdate&) = delete;

 private:
  Node& node_;
  std::optional<RowLocks::Guard> rows_;
};

// Locks the entries of several directories, in ascending order of their numbers. The analysis cannot follow which.
class DirectoryLocks {
 public:
  DirectoryLocks() = default;
  ~DirectoryLocks();
  DirectoryLocks(const DirectoryLocks&) = delete;
  DirectoryLocks& operator=(const DirectoryLocks&) = delete;

  void want(NodePtr directory, bool exclusive);
  void lock();

 private:
  std::vector<std::pair<NodePtr, bool>> wanted_;
  bool locked_ = false;
};

// Locks several nodes exclusively, in ascending order of their numbers, each once; nulls are skipped. The analysis cannot
// follow which: code below it says assert_held() of the nodes that it touches.
class NodeLocks {
 public:
  explicit NodeLocks(std::vector<NodePtr> nodes);
  ~NodeLocks();
  NodeLocks(const NodeLocks&) = delete;
  NodeLocks& operator=(const NodeLocks&) = delete;

 private:
  std::vector<NodePtr> nodes_;
};

}  // namespace cffs
