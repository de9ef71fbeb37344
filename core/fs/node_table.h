// All nodes by inode number, sharded. Leaf locks: nothing else is acquired under a shard's mutex, but for a node that
// nobody else can have (erase_unreferenced).
#pragma once

#include <array>
#include <functional>
#include <unordered_map>

#include "core/fs/node.h"

namespace cffs {

class NodeTable {
 public:
  NodePtr find(InodeId ino) const;
  // The node with one more reference; make() builds it where there is none. Called under the stripe of the
  // inode row.
  NodePtr acquire(InodeId ino, const std::function<NodePtr()>& make);
  // Takes references back. True where none is left: the caller then cleans up and calls erase_unreferenced().
  bool release(InodeId ino, std::uint64_t references);
  enum class Erased { yes, in_use, unsettled };
  // Forgets the node, unless somebody uses it or it still has something to settle: a row that is behind, what is kept of a
  // file without a name.
  Erased erase_unreferenced(InodeId ino);
  void clear();
  // Every node that is there, one after the other; one that comes or goes meanwhile may be left out. Called without the shards'
  // mutexes.
  void visit(const std::function<void(const Node&)>& visit) const;

 private:
  struct Referred {
    NodePtr node;
    std::uint64_t references = 0;
  };
  struct Shard {
    mutable Mutex mutex;
    std::unordered_map<InodeId, Referred> nodes CFFS_GUARDED_BY(mutex);
  };
  static constexpr std::size_t kShards = 64;
  const Shard& shard_of(InodeId ino) const { return shards_[ino.value % kShards]; }
  Shard& shard_of(InodeId ino) { return shards_[ino.value % kShards]; }
  std::array<Shard, kShards> shards_;
};

}  // namespace cffs
