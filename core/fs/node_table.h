// All inodes that somebody refers to, by number, sharded; and the nodes of those in use.
//
// An inode is awake, which is to have a node, or asleep: then all that is in memory is how often it is referred to and where its row is
// (known_inodes.h), and the row is the truth. Who needs its node wakes it (NodeRows::node): the node is made anew from the row,
// under that row's stripe like every other. Only so many are awake; beyond that those that nobody has used lately go to sleep,
// a few whenever another comes, the rest with the commit. Awake stay the root, those somebody has a pointer to (an operation,
// a child that is awake), and those that have more to tell than their rows (settled()).
//
// A directory stays in the table as long as one of its children sleeps: to wake that one takes its directory.
//
// Leaf locks: nothing else is acquired under a shard's mutex, but for a node that nobody else can have (erase_unreferenced,
// put_to_sleep), and another shard's if it is free (put_to_sleep).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/fs/known_inodes.h"
#include "core/fs/node.h"
#include "core/table/name_hash.h"

namespace cffs {

// Where a sleeping inode is to be found.
struct Asleep {
  Key row;   // its inode's
  Key seen;  // of the name by which it was seen last, in the directory `seen.upper`; the row itself where it is no hard link
  bool linked() const { return row != seen; }
  friend bool operator==(const Asleep&, const Asleep&) = default;
};

class NodeTable {
 public:
  // `most_awake`: nodes that are kept for inodes that nobody uses just now.
  NodeTable(std::size_t most_awake, const NameHash& name_hash)
      : most_awake_(most_awake), name_hash_(name_hash) {}

  // Null: nobody refers to the inode, or it sleeps. In both cases its row is the truth, and stays so while its stripe is held
  // exclusively.
  NodePtr find(InodeId ino);
  // Neither: nobody refers to it.
  struct Found {
    NodePtr node;
    std::optional<Asleep> asleep;
  };
  Found look(InodeId ino);
  // The node with one more reference; make() builds it where there is none, from the row `row`. Called under the stripe of
  // that row. Null: the inode sleeps, and has another row than this.
  NodePtr acquire(InodeId ino, Key row, const std::function<NodePtr()>& make);
  // One more reference to a node that the caller has; a new one is added.
  void acquire(const NodePtr& node);
  // The node of an inode that slept at this place, made anew under its row's stripe, or by somebody else meanwhile. Null: it is gone, or
  // sleeps elsewhere.
  NodePtr wake(InodeId ino, const Asleep& at, const std::function<NodePtr()>& make);
  // Takes references back. True where none is left: the caller then cleans up and calls erase_unreferenced().
  bool release(InodeId ino, std::uint64_t references);
  enum class Erased { yes, in_use, unsettled };
  // Forgets the inode, unless somebody uses it, a child of it sleeps, or it still has something to settle: a row that is behind, what is
  // kept of a file without a name.
  Erased erase_unreferenced(InodeId ino);
  // The same for one that sleeps; one that is awake is unsettled.
  struct Forgotten {
    Erased erased = Erased::yes;
    std::optional<InodeId> directory;  // that held it, and may be to be forgotten too
  };
  Forgotten erase_asleep(InodeId ino);
  // Nodes beyond the bound that are settled now go to sleep; so many are asked at most, by turns.
  void put_rest_to_sleep(std::size_t most_asked = std::numeric_limits<std::size_t>::max());
  // More nodes than the bound.
  bool is_crowded() const { return awake_.load(std::memory_order_relaxed) > most_awake_; }
  // Directories without a reference whose last sleeping child was found elsewhere: to be forgotten.
  std::vector<InodeId> take_abandoned();
  void clear();
  // Every node that is there, one after the other; one that comes or goes meanwhile may be left out. Called without the shards'
  // mutexes.
  void visit(const std::function<void(const Node&)>& visit);

  // Up to `most` inodes that sleep, others with each call until all had their turn.
  std::vector<InodeId> some_asleep(std::size_t most);

  struct Counts {
    std::size_t awake = 0, asleep = 0;
    std::size_t bytes = 0;  // of the table, without the nodes
  };
  Counts counts();

 private:
  struct Awake {
    NodePtr node;
    std::uint64_t references = 0;
    bool used = true;  // since the hand was here
  };
  struct Shard {
    Mutex mutex;
    KnownInodes inodes CFFS_GUARDED_BY(mutex);
    std::vector<Awake> awake CFFS_GUARDED_BY(mutex);
    std::size_t hand CFFS_GUARDED_BY(mutex) = 0;     // who is asked next whether it sleeps
    std::size_t sleeper CFFS_GUARDED_BY(mutex) = 0;  // where some_asleep() goes on
  };
  static constexpr std::size_t kShards = 64;
  Shard& shard_of(InodeId ino) { return shards_[ino.value % kShards]; }

  static Asleep place_of(const KnownInode& there);
  static bool settled(const Node& node) CFFS_REQUIRES_SHARED(node.mutex);
  static Awake& awake_of(Shard& shard, const KnownInode& there) CFFS_REQUIRES(shard.mutex);
  static std::uint64_t references_of(Shard& shard, const KnownInode& there) CFFS_REQUIRES(shard.mutex);
  void add(Shard& shard, const NodePtr& node) CFFS_REQUIRES(shard.mutex);
  NodePtr make_awake(Shard& shard, KnownInode& there, const std::function<NodePtr()>& make)
      CFFS_REQUIRES(shard.mutex);
  NodePtr remove_node(Shard& shard, std::size_t at) CFFS_REQUIRES(shard.mutex);
  // A child that slept below the directory does no longer.
  void child_left(InodeId directory, bool for_another);
  void make_room();
  // Somebody of the shard goes to sleep, of so many that are asked, who are then so many fewer; the node is destroyed by the
  // caller. Null: none of them.
  NodePtr sweep(Shard& shard, std::size_t& asks);
  NodePtr put_to_sleep(Shard& shard, std::size_t at) CFFS_REQUIRES(shard.mutex);

  const std::size_t most_awake_;
  const NameHash name_hash_;
  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> awake_{0};
  std::atomic<std::size_t> turn_{0};        // the shard that is swept next
  std::atomic<std::size_t> next_shard_{0};  // where some_asleep() goes on
  Mutex abandoned_mutex_;                   // leaf
  std::vector<InodeId> abandoned_ CFFS_GUARDED_BY(abandoned_mutex_);
};

}  // namespace cffs
