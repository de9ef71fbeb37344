// A node: the in-memory side of an inode that somebody refers to (the kernel's lookup count, or a library
// caller).
//
// While a node exists it is the truth about its inode; its row is at most `row_stale` behind. A node is made
// only under a (shared) lock of its inode row's stripe, and an inode row is written only under an exclusive
// one, so a node never starts from an old row.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "core/object/object_store.h"
#include "core/table/inode.h"
#include "core/table/key.h"

namespace cffs {

struct Node {
  Node(Inode attributes, Key key, std::shared_ptr<Node> in, std::string_view called, bool alone)
      : ino(attributes.ino),
        type(attributes.mode & S_IFMT),
        row_key(key),
        row_alone(alone),
        parent(std::move(in)),
        name(called),
        inode(std::move(attributes)) {}

  const InodeId ino;
  const mode_t
      type;  // S_IFMT bits: the one part of the mode that never changes, so readable without the lock

  // Directories: held shared while an entry comes or goes, exclusively while the directory itself goes.
  std::shared_mutex entries;

  // Guards everything below it, unless said otherwise. Readers of file data hold it shared.
  mutable std::shared_mutex mutex;
  Key row_key;                   // where the inode is: its name row, or its null-name row
  bool row_alone;                // no other entry shares that row; guarded by the row's stripe instead
  std::shared_ptr<Node> parent;  // the directory last seen holding it; null for the root
  std::string name;              // in `parent`
  Inode inode;
  bool row_stale = false;                   // attributes changed since the row was written
  bool unlinked = false;                    // no name and no row left; lives until the last reference goes
  bool unnamed = false;                     // unlinked because it never had a name: link() may give it one
  std::optional<std::string> orphan_bytes;  // the data of an unlinked file, where it is not an object
  std::shared_ptr<Object> pinned;           // keeps an unlinked file's object readable
  std::atomic<std::uint64_t> verified{0};   // checksum of the extent that was checked; atomic: set by readers
  std::uint64_t dirty_epoch = ~std::uint64_t{0};  // DirtyObjects::epoch in which the blob was last noted

  // Directories: consolidation looks at them once quiet. Atomic: touched by every write below the directory.
  std::atomic<std::int64_t> staged_at_ms{0};
  std::atomic<bool> staged{false};

  std::uint64_t references = 0;  // guarded by the node table's shard
};

using NodePtr = std::shared_ptr<Node>;

}  // namespace cffs
