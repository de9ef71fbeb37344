#include "core/fs/node_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace cffs {
namespace {

// What a node that comes does for those that go: two may, so that a crowd that was unsettled shrinks again, and of each shard's a few
// are asked, so that it takes no longer where nobody can.
constexpr int kSleepersAtOnce = 2;
constexpr int kShardsAtOnce = 4;
constexpr std::size_t kAskedAtOnce = 8;
constexpr std::size_t kAskedAtRest = 64;  // under one lock, by who does nothing else
constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Asleep NodeTable::place_of(const KnownInode& there) {
  const Key seen{there.upper, there.lower};
  return {there.state == KnownInode::State::asleep_linked ? Key::null_name(there.ino()) : seen, seen};
}

// Its row has all that it knows, and it would be the same if it were made of it.
bool NodeTable::settled(const Node& node) {
  return !node.row_stale && !node.unlinked && node.parent && node.seals_broken == node.seals_broken_durably;
}

NodeTable::Awake& NodeTable::awake_of(Shard& shard, const KnownInode& there) {
  return shard.awake[static_cast<std::size_t>(there.lower)];
}

std::uint64_t NodeTable::references_of(Shard& shard, const KnownInode& there) {
  return there.is_awake() ? awake_of(shard, there).references : there.references;
}

NodePtr NodeTable::find(InodeId ino) {
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  const KnownInode* const there = shard.inodes.find(ino);
  if (there == nullptr || !there->is_awake()) return nullptr;
  Awake& awake = awake_of(shard, *there);
  awake.used = true;
  return awake.node;
}

NodeTable::Found NodeTable::look(InodeId ino) {
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  const KnownInode* const there = shard.inodes.find(ino);
  if (there == nullptr) return {};
  if (!there->is_awake()) return {nullptr, place_of(*there)};
  return {awake_of(shard, *there).node, {}};
}

void NodeTable::add(Shard& shard, const NodePtr& node) {
  shard.inodes.make_room();
  shard.awake.push_back({node, 1});
  shard.inodes.insert(node->ino).lower = shard.awake.size() - 1;
  awake_.fetch_add(1, std::memory_order_relaxed);
}

NodePtr NodeTable::make_awake(Shard& shard, KnownInode& there, const std::function<NodePtr()>& make) {
  NodePtr node = make();
  shard.awake.push_back({node, there.references});
  there.state = KnownInode::State::awake;
  there.lower = shard.awake.size() - 1;
  there.references = 0;
  awake_.fetch_add(1, std::memory_order_relaxed);
  return node;
}

NodePtr NodeTable::acquire(InodeId ino, Key row, const std::function<NodePtr()>& make) {
  NodePtr node;
  std::optional<Asleep> slept;
  {
    Shard& shard = shard_of(ino);
    const MutexLock guard(shard.mutex);
    KnownInode* const there = shard.inodes.find(ino);
    if (there == nullptr) {
      node = make();
      add(shard, node);
    } else {
      if (!there->is_awake()) {
        slept = place_of(*there);
        if (slept->row != row) return nullptr;
        (void)make_awake(shard, *there, make);
      }
      Awake& awake = awake_of(shard, *there);
      awake.used = true;
      ++awake.references;
      node = awake.node;
      if (!slept) return node;
    }
  }
  if (slept) child_left(InodeId{slept->seen.upper}, slept->linked());
  make_room();
  return node;
}

void NodeTable::acquire(const NodePtr& node) {
  {
    Shard& shard = shard_of(node->ino);
    const MutexLock guard(shard.mutex);
    const KnownInode* const there = shard.inodes.find(node->ino);
    if (there != nullptr) {
      CFFS_INVARIANT(there->is_awake());  // the caller has it
      ++awake_of(shard, *there).references;
      return;
    }
    add(shard, node);
  }
  make_room();
}

NodePtr NodeTable::wake(InodeId ino, const Asleep& at, const std::function<NodePtr()>& make) {
  NodePtr node;
  {
    Shard& shard = shard_of(ino);
    const MutexLock guard(shard.mutex);
    KnownInode* const there = shard.inodes.find(ino);
    if (there == nullptr) return nullptr;
    if (there->is_awake()) return awake_of(shard, *there).node;
    if (place_of(*there) != at) return nullptr;
    node = make_awake(shard, *there, make);
  }
  child_left(InodeId{at.seen.upper}, at.linked());
  make_room();
  return node;
}

// Of one that is awake below the same directory the node holds that; who forgets it asks after the directory.
void NodeTable::child_left(InodeId directory, bool for_another) {
  {
    Shard& shard = shard_of(directory);
    const MutexLock guard(shard.mutex);
    KnownInode* const there = shard.inodes.find(directory);
    CFFS_INVARIANT(there != nullptr && there->sleeping_children > 0);
    --there->sleeping_children;
    if (!for_another || there->sleeping_children > 0 || references_of(shard, *there) > 0) return;
  }
  const MutexLock guard(abandoned_mutex_);
  abandoned_.push_back(directory);
}

std::vector<InodeId> NodeTable::take_abandoned() {
  const MutexLock guard(abandoned_mutex_);
  return std::exchange(abandoned_, {});
}

bool NodeTable::release(InodeId ino, std::uint64_t references) {
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  KnownInode* const there = shard.inodes.find(ino);
  if (there == nullptr) return false;
  const std::uint64_t before = references_of(shard, *there);
  CFFS_INVARIANT(before >= references);
  if (there->is_awake()) {
    awake_of(shard, *there).references -= references;
  } else {
    there->references -= static_cast<std::uint32_t>(references);
  }
  return before == references;
}

NodePtr NodeTable::remove_node(Shard& shard, std::size_t at) {
  NodePtr node = std::move(shard.awake[at].node);
  if (at + 1 < shard.awake.size()) {
    shard.awake[at] = std::move(shard.awake.back());
    shard.inodes.find(shard.awake[at].node->ino)->lower = at;
  }
  shard.awake.pop_back();
  awake_.fetch_sub(1, std::memory_order_relaxed);
  constexpr std::size_t kFew = 64, kTooLarge = 4;  // what a crowd leaves is given back
  if (shard.awake.capacity() > std::max(kFew, kTooLarge * shard.awake.size())) shard.awake.shrink_to_fit();
  return node;
}

NodeTable::Erased NodeTable::erase_unreferenced(InodeId ino) {
  NodePtr erased;  // destroyed after the lock: it may be the last to hold its parent
  Shard& shard = shard_of(ino);
  const MutexLock guard(shard.mutex);
  KnownInode* const there = shard.inodes.find(ino);
  if (there == nullptr) return Erased::yes;
  if (!there->is_awake()) return Erased::unsettled;
  const Awake& awake = awake_of(shard, *there);
  // A use count above one is an operation under way, or a child that names this directory as its parent.
  if (awake.references > 0 || awake.node.use_count() > 1 || there->sleeping_children > 0)
    return Erased::in_use;
  {
    // Out of rank, but it cannot wait: nobody else has a pointer to the node, and none is given out without the shard.
    const Node& node = *awake.node;
    const ReadLock node_guard(node.mutex);
    if (node.row_stale) return Erased::unsettled;
    if (node.unlinked && (node.inode.home == Home::blob || node.nameless_row)) return Erased::unsettled;
  }
  erased = remove_node(shard, static_cast<std::size_t>(there->lower));
  shard.inodes.erase(*there);
  return Erased::yes;
}

NodeTable::Forgotten NodeTable::erase_asleep(InodeId ino) {
  InodeId directory;
  {
    Shard& shard = shard_of(ino);
    const MutexLock guard(shard.mutex);
    KnownInode* const there = shard.inodes.find(ino);
    if (there == nullptr) return {};
    if (there->is_awake()) return {Erased::unsettled, {}};
    if (there->references > 0 || there->sleeping_children > 0) return {Erased::in_use, {}};
    directory = InodeId{there->upper};
    shard.inodes.erase(*there);
  }
  child_left(directory, false);
  return {Erased::yes, directory};
}

// Where the shard of the directory is not free somebody else is asked: the bound is no promise.
NodePtr NodeTable::put_to_sleep(Shard& shard, std::size_t at) CFFS_NO_THREAD_SAFETY_ANALYSIS {
  const Awake& awake = shard.awake[at];
  if (awake.node.use_count() > 1 || awake.references > kMost) return nullptr;
  const InodeId ino = awake.node->ino;
  Asleep place;
  InodeId directory;
  {
    // As in erase_unreferenced(): nobody else can have it.
    const Node& node = *awake.node;
    const ReadLock node_guard(node.mutex);
    if (!settled(node)) return nullptr;
    directory = node.parent->ino;
    place.row = node.row_key;
    place.seen =
        node.row_key == Key::null_name(ino) ? entry_key(name_hash_, directory, node.name) : node.row_key;
  }
  CFFS_INVARIANT(place.seen.upper == directory.value);
  Shard& above = shard_of(directory);
  const bool same = &above == &shard;
  if (!same && !above.mutex.try_lock()) return nullptr;
  KnownInode* const parent = above.inodes.find(directory);
  CFFS_INVARIANT(parent != nullptr);
  const bool counted = parent->sleeping_children < kMost;
  if (counted) ++parent->sleeping_children;
  if (!same) above.mutex.unlock();
  if (!counted) return nullptr;
  KnownInode& there = *shard.inodes.find(ino);
  there.state = place.linked() ? KnownInode::State::asleep_linked : KnownInode::State::asleep;
  there.references = static_cast<std::uint32_t>(awake.references);
  there.upper = place.seen.upper;
  there.lower = place.seen.lower;
  return remove_node(shard, at);
}

// A clock: whoever was used since the hand was there is passed over once.
NodePtr NodeTable::sweep(Shard& shard, std::size_t& asks) {
  const MutexLock guard(shard.mutex);
  for (; asks > 0 && !shard.awake.empty(); --asks) {
    if (shard.hand >= shard.awake.size()) shard.hand = 0;
    if (!std::exchange(shard.awake[shard.hand].used, false)) {
      if (NodePtr gone = put_to_sleep(shard, shard.hand)) {
        --asks;
        return gone;  // another is in its place
      }
    }
    ++shard.hand;
  }
  return nullptr;
}

void NodeTable::make_room() {
  for (int shards = 0, sleepers = 0; shards < kShardsAtOnce && sleepers < kSleepersAtOnce; ++shards) {
    if (!is_crowded()) return;
    const std::size_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
    std::size_t asks = kAskedAtOnce;
    if (const NodePtr gone = sweep(shards_[turn % kShards], asks)) ++sleepers;
  }
}

// Everybody twice, if it must be: the first time it may have been used.
void NodeTable::put_rest_to_sleep(std::size_t most_asked) {
  for (std::size_t shards = 0; shards < kShards && most_asked > 0 && is_crowded(); ++shards) {
    Shard& shard = shards_[turn_.fetch_add(1, std::memory_order_relaxed) % kShards];
    std::size_t here = 0;
    {
      const MutexLock guard(shard.mutex);
      here = std::min(most_asked, 2 * shard.awake.size());
    }
    most_asked -= here;
    while (here > 0 && is_crowded()) {
      std::size_t asks = std::min(here, kAskedAtRest);
      here -= asks;
      const NodePtr gone = sweep(shard, asks);
      if (!gone) continue;
      here += asks;
    }
  }
}

void NodeTable::visit(const std::function<void(const Node&)>& visit) {
  for (Shard& shard : shards_) {
    std::vector<NodePtr> here;
    {
      const MutexLock guard(shard.mutex);
      here.reserve(shard.awake.size());
      for (const Awake& awake : shard.awake) here.push_back(awake.node);
    }
    for (const NodePtr& node : here) visit(*node);
  }
}

void NodeTable::clear() {
  std::vector<NodePtr> all;
  for (Shard& shard : shards_) {
    const MutexLock guard(shard.mutex);
    for (Awake& awake : shard.awake) all.push_back(std::move(awake.node));
    shard.awake.clear();
    shard.inodes = KnownInodes();
  }
  awake_.store(0, std::memory_order_relaxed);
  // A node that goes lets go of its parent: one after the other here, not each within the one below it.
  for (const NodePtr& node : all) {
    const WriteLock guard(node->mutex);
    node->parent.reset();
  }
}

std::vector<InodeId> NodeTable::some_asleep(std::size_t most) {
  std::vector<InodeId> some;
  some.reserve(most);
  // A share of each shard, so that none is emptied while others are full.
  const std::size_t share = std::max<std::size_t>(1, most / kShards);
  for (std::size_t shards = 0; shards < kShards && some.size() < most; ++shards) {
    Shard& shard = shards_[next_shard_.fetch_add(1, std::memory_order_relaxed) % kShards];
    const MutexLock guard(shard.mutex);
    shard.inodes.some_asleep(shard.sleeper, std::min(share, most - some.size()), some);
  }
  return some;
}

NodeTable::Counts NodeTable::counts() {
  Counts counts;
  for (Shard& shard : shards_) {
    const MutexLock guard(shard.mutex);
    counts.awake += shard.awake.size();
    counts.asleep += shard.inodes.size() - shard.awake.size();
    counts.bytes += shard.inodes.bytes() + shard.awake.capacity() * sizeof(Awake);
  }
  return counts;
}

}  // namespace cffs
