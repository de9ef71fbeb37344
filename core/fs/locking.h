// The two guards that operations of FileSystem compose: private to core/fs.
#pragma once

#include <algorithm>
#include <optional>

#include "core/fs/file_system.h"

namespace cffs {

// Locks a node for a change of its attributes or data: the stripe of its inode row, that of its composite's
// row (the extent may be freed), then the node. Where the node moved meanwhile, tries again.
class FileSystem::NodeUpdate {
 public:
  NodeUpdate(FileSystem& fs, Node& node) {
    for (;;) {
      std::vector<Key> keys;
      bool in_composite = false;
      CompositeId composite;
      {
        const std::shared_lock peek(node.mutex);
        keys.push_back(node.row_key);
        in_composite = node.inode.home == Home::composite && !node.unlinked;
        composite = node.inode.extent.composite;
        if (in_composite) keys.push_back(Key::null_name(composite));
      }
      rows_.emplace(fs.locks_, keys);
      node_ = std::unique_lock(node.mutex);
      const bool still =
          node.row_key == keys[0] && (node.unlinked || node.inode.home != Home::composite ||
                                      (in_composite && node.inode.extent.composite == composite));
      if (still) return;
      node_.unlock();
      rows_.reset();
    }
  }

 private:
  // Destroyed in reverse: the node first, then the rows.
  std::optional<RowLocks::Guard> rows_;
  std::unique_lock<std::shared_mutex> node_;
};

// Locks the entries of several directories, in ascending order of their numbers.
class FileSystem::DirectoryLocks {
 public:
  void want(NodePtr directory, bool exclusive) {
    for (auto& [node, ex] : wanted_) {
      if (node == directory) {
        ex |= exclusive;
        return;
      }
    }
    wanted_.emplace_back(std::move(directory), exclusive);
  }
  void lock() {
    std::sort(wanted_.begin(), wanted_.end(),
              [](const auto& a, const auto& b) { return a.first->ino < b.first->ino; });
    for (const auto& [node, exclusive] : wanted_) {
      if (exclusive) {
        node->entries.lock();
      } else {
        node->entries.lock_shared();
      }
    }
    locked_ = true;
  }
  ~DirectoryLocks() {
    if (!locked_) return;
    for (auto it = wanted_.rbegin(); it != wanted_.rend(); ++it) {
      if (it->second) {
        it->first->entries.unlock();
      } else {
        it->first->entries.unlock_shared();
      }
    }
  }
  DirectoryLocks() = default;
  DirectoryLocks(const DirectoryLocks&) = delete;
  DirectoryLocks& operator=(const DirectoryLocks&) = delete;

 private:
  std::vector<std::pair<NodePtr, bool>> wanted_;
  bool locked_ = false;
};

// Locks several nodes exclusively, in ascending order of their numbers, each once; nulls are skipped.
class NodeLocks {
 public:
  explicit NodeLocks(std::vector<NodePtr> nodes) : nodes_(std::move(nodes)) {
    std::erase(nodes_, nullptr);
    std::sort(nodes_.begin(), nodes_.end(),
              [](const NodePtr& a, const NodePtr& b) { return a->ino < b->ino; });
    nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
    for (const NodePtr& node : nodes_) node->mutex.lock();
  }
  ~NodeLocks() {
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) (*it)->mutex.unlock();
  }
  NodeLocks(const NodeLocks&) = delete;
  NodeLocks& operator=(const NodeLocks&) = delete;

 private:
  std::vector<NodePtr> nodes_;
};

}  // namespace cffs
