#include "core/fs/node_table.h"

#include <vector>

#include "core/base/error.h"

namespace cffs {

NodePtr NodeTable::find(InodeId ino) const {
  const Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  const auto it = shard.nodes.find(ino);
  return it == shard.nodes.end() ? nullptr : it->second.node;
}

NodePtr NodeTable::acquire(InodeId ino, const std::function<NodePtr()>& make) {
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  Referred& there = shard.nodes[ino];
  if (!there.node) there.node = make();
  ++there.references;
  return there.node;
}

bool NodeTable::release(InodeId ino, std::uint64_t references) {
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  const auto it = shard.nodes.find(ino);
  if (it == shard.nodes.end()) return false;
  CFFS_INVARIANT(it->second.references >= references);
  it->second.references -= references;
  return it->second.references == 0;
}

NodeTable::Erased NodeTable::erase_unreferenced(InodeId ino) {
  NodePtr erased;  // destroyed after the lock: it may be the last to hold its parent
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  const auto it = shard.nodes.find(ino);
  if (it == shard.nodes.end()) return Erased::yes;
  // A use count above one is an operation under way, or a child that names this directory as its parent.
  if (it->second.references > 0 || it->second.node.use_count() > 1) return Erased::in_use;
  {
    // Out of rank, but it cannot wait: nobody else has a pointer to the node, and none is given out without the shard.
    const Node& node = *it->second.node;
    const ReadLock node_guard(node.mutex);
    if (node.row_stale) return Erased::unsettled;
    if (node.unlinked && (node.inode.home == Home::blob || node.nameless_row)) return Erased::unsettled;
  }
  erased = std::move(it->second.node);
  shard.nodes.erase(it);
  return Erased::yes;
}

void NodeTable::visit(const std::function<void(const Node&)>& visit) const {
  for (const Shard& shard : shards_) {
    std::vector<NodePtr> here;
    {
      const MutexLock guard(shard.mutex);
      here.reserve(shard.nodes.size());
      for (const auto& [ino, referred] : shard.nodes) here.push_back(referred.node);
    }
    for (const NodePtr& node : here) visit(*node);
  }
}

void NodeTable::clear() {
  std::vector<NodePtr> all;
  for (Shard& shard : shards_) {
    const MutexLock guard(shard.mutex);
    for (auto& [ino, referred] : shard.nodes) all.push_back(std::move(referred.node));
    shard.nodes.clear();
  }
  // A node that goes lets go of its parent: one after the other here, not each within the one below it.
  for (const NodePtr& node : all) {
    const WriteLock guard(node->mutex);
    node->parent.reset();
  }
}

}  // namespace cffs
