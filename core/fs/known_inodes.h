// One entry for each inode that somebody refers to, 32 bytes, in a flat table: what is left of an inode that nobody uses just now.
//
// Open addressing with linear probing; what is erased closes its gap, so there are no marks of the dead, and a table that has become
// empty gives its memory back. Between 43 and 86 bytes an inode while it grows.
//
// Not thread-safe: a shard's mutex guards it (node_table.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/ids.h"
#include "core/table/key.h"

namespace cffs {

struct KnownInode {
  // asleep: there is no node, the inode's row is the truth. A linked one has its row at the null name.
  enum class State : std::uint8_t { none, awake, asleep, asleep_linked };

  std::uint64_t number : 56 = 0;  // the inode's
  State state : 8 = State::none;
  // Asleep: the directory last seen holding it, and the hash of its name there. Awake: `lower` is where its node is.
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;
  std::uint32_t references = 0;         // asleep; else they are beside the node
  std::uint32_t sleeping_children = 0;  // inodes that sleep with this directory as `upper`

  InodeId ino() const { return InodeId{number}; }
  bool is_awake() const { return state == State::awake; }
};
static_assert(sizeof(KnownInode) == 32);

class KnownInodes {
 public:
  // Null: it is not there. The pointer is good until the next insert() or erase().
  KnownInode* find(InodeId ino) {
    return const_cast<KnownInode*>(static_cast<const KnownInodes*>(this)->find(ino));
  }
  const KnownInode* find(InodeId ino) const;
  // The next insert() needs no memory. May throw std::bad_alloc; then nothing has changed.
  void make_room();
  // A new entry, awake, after make_room(); it must not be there.
  KnownInode& insert(InodeId ino);
  void erase(KnownInode& there);
  // Up to `most` that sleep and have no child that does, from `hand` on, which goes on with each call; appended to `into`.
  void some_asleep(std::size_t& hand, std::size_t most, std::vector<InodeId>& into) const;
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return capacity_ * sizeof(KnownInode); }

 private:
  // Where an entry is if nobody is in its place. Consecutive numbers of one shard are far apart.
  std::size_t home_of(std::uint64_t number) const {
    return static_cast<std::size_t>((number * 0x9e3779b97f4a7c15u) >> shift_);
  }
  void rebuild(std::unique_ptr<KnownInode[]> slots, std::size_t capacity);

  std::unique_ptr<KnownInode[]> slots_;
  std::size_t capacity_ = 0;  // a power of two; at most three quarters are used
  std::size_t size_ = 0;
  unsigned shift_ = 64;
};

}  // namespace cffs
