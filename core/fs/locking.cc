#include "core/fs/locking.h"

#include <algorithm>

namespace cffs {

// The analysis cannot follow a lock that is taken in a loop and kept by its last round.
NodeUpdate::NodeUpdate(RowLocks& locks, Node& node) CFFS_NO_THREAD_SAFETY_ANALYSIS : node_(node) {
  for (;;) {
    std::vector<Key> keys;
    bool in_composite = false;
    CompositeId composite;
    {
      const ReadLock peek(node.mutex);
      keys.push_back(node.row_key);
      in_composite = node.inode.home == Home::composite && !node.unlinked;
      composite = node.inode.extent.composite;
      if (in_composite) keys.push_back(Key::null_name(composite));
    }
    rows_.emplace(locks, keys);
    node.mutex.lock();
    const bool still =
        node.row_key == keys[0] && (node.unlinked || node.inode.home != Home::composite ||
                                    (in_composite && node.inode.extent.composite == composite));
    if (still) return;
    node.mutex.unlock();
    rows_.reset();
  }
}

NodeUpdate::~NodeUpdate() CFFS_NO_THREAD_SAFETY_ANALYSIS {
  node_.mutex.unlock();
}  // the node first, then the rows

void DirectoryLocks::want(NodePtr directory, bool exclusive) {
  for (auto& [node, ex] : wanted_) {
    if (node == directory) {
      ex |= exclusive;
      return;
    }
  }
  wanted_.emplace_back(std::move(directory), exclusive);
}

void DirectoryLocks::lock() CFFS_NO_THREAD_SAFETY_ANALYSIS {
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

DirectoryLocks::~DirectoryLocks() CFFS_NO_THREAD_SAFETY_ANALYSIS {
  if (!locked_) return;
  for (auto it = wanted_.rbegin(); it != wanted_.rend(); ++it) {
    if (it->second) {
      it->first->entries.unlock();
    } else {
      it->first->entries.unlock_shared();
    }
  }
}

NodeLocks::NodeLocks(std::vector<NodePtr> nodes) CFFS_NO_THREAD_SAFETY_ANALYSIS : nodes_(std::move(nodes)) {
  std::erase(nodes_, nullptr);
  std::sort(nodes_.begin(), nodes_.end(), [](const NodePtr& a, const NodePtr& b) { return a->ino < b->ino; });
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  for (const NodePtr& node : nodes_) node->mutex.lock();
}

NodeLocks::~NodeLocks() CFFS_NO_THREAD_SAFETY_ANALYSIS {
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) (*it)->mutex.unlock();
}

}  // namespace cffs
