// Between nodes and rows: from a name to what it leads to, from a row to a node, and from a node back to its row.
//
// Only the rows say which locks an operation needs, and locks must be taken in rank order: so an operation peeks without
// locks, locks the keys that this named, and peeks again (docs/CONCURRENCY.md).
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/composite/composite_accounts.h"
#include "core/fs/freed_composites.h"
#include "core/fs/node_table.h"
#include "core/fs/removals.h"
#include "core/fs/staged_directories.h"
#include "core/table/name_hash.h"
#include "core/table/row_locks.h"
#include "core/table/table.h"

namespace cffs {

// Damage that only a row written by somebody else can show.
Error lost_row(InodeId ino);
inline Error leads_nowhere(InodeId ino) {
  return Error::corruption("a name leads to inode " + std::to_string(ino.value) + ", which has no row");
}

// What a name leads to: the entry, and the inode from its node or row.
struct Target {
  Entry entry;
  NodePtr node;         // null: nobody refers to it
  Inode inode;          // a copy
  bool linked = false;  // attributes are in the null-name row
  Row row;              // that the entry is in

  // Whether the same locks are needed for both.
  bool same_place(const Target& other) const;
  // Takes the attributes from the node, which the caller has locked.
  void refresh();
};

// Whether the row may have this entry too, beside those that it has (limits.h). ENOSPC.
Status check_room(const Row& row, std::string_view name, const Inode* inode);

class NodeRows {
 public:
  NodeRows(Table& table, RowLocks& locks, NodeTable& nodes, StagedDirectories& staged, FreedComposites& freed,
           Removals& removals, const NameHash& name_hash)
      : table_(table),
        locks_(locks),
        nodes_(nodes),
        staged_(staged),
        freed_(freed),
        removals_(removals),
        name_hash_(name_hash) {}

  // --- from names and numbers ---
  Key entry_key(InodeId directory, std::string_view name) const;
  // An inode that sleeps is woken, which takes the stripe of its row. ESTALE: nobody refers to it.
  Result<NodePtr> node(InodeId ino) const CFFS_EXCLUDES(row_stripes);
  Result<NodePtr> directory(InodeId ino) const CFFS_EXCLUDES(row_stripes);  // ESTALE, ENOTDIR
  // The attributes of a hard-linked inode. ESTALE: its last link is gone.
  Result<Inode> linked_inode(InodeId ino) const;
  // nullopt: no such name. Holds no stripe when it returns: look_again() does, under those of append_keys(). Of a directory that
  // somebody refers to there is a node; a file may be asleep.
  // `otherwise` (may be null): the row, where the name is not in it.
  Result<std::optional<Target>> peek(InodeId parent, std::string_view name, Row* otherwise = nullptr) const
      CFFS_EXCLUDES(row_stripes);
  // The same under the stripes that `seen`, peek()'s (null: no such name), asks for: whatever somebody refers to is awake, if it is
  // still in the same place. `unchanged`: none of these stripes' rows was written since before peek() was called, so it is not read again.
  Result<std::optional<Target>> look_again(const NodePtr& parent, std::string_view name, const Target* seen,
                                           bool unchanged) const CFFS_REQUIRES(row_stripes);
  // The rows that a change of this name or its inode touches.
  void append_keys(std::vector<Key>& keys, InodeId parent, std::string_view name, const Target& target) const;
  // `locked`: the node whose entries the caller holds exclusively, if there is one.
  Result<bool> directory_is_empty(const Target& target, const NodePtr& locked) const;
  // Whether the node is where this entry is (no name: any); else the store has two rows for one inode.
  static Status check_place(const Node& node, Key row_key, std::string_view name)
      CFFS_REQUIRES_SHARED(node.mutex);
  // The inode's node with one more reference, made of this row where there is none. The row's stripe is held.
  // `corruption`: it has another row.
  Result<NodePtr> refer(const Inode& inode, Key row_key, bool row_alone, NodePtr parent,
                        std::string_view name) CFFS_REQUIRES_SHARED(row_stripes);

  // --- from nodes to rows ---
  // The node's row, as the node is; nothing where it has none. The row's stripe is held.
  Status put(Batch& batch, Node& node) CFFS_REQUIRES(node.mutex, row_stripes);
  // The node's inode with its long parts, which may take a look at its row.
  Result<Inode> whole(const Node& node) const CFFS_REQUIRES_SHARED(node.mutex);
  // The node becomes this, and its row with it; where that fails it is as it was. Of a file without a name long parts go to the
  // row of the nameless.
  Status change(Node& node, Inode whole) CFFS_REQUIRES(node.mutex, row_stripes);
  // Long parts of a file that has no name, from now on to be found by its number. The batch is its taking of the name.
  Status put_nameless(Batch& batch, InodeId ino, const Inode& whole) const;
  // The row is behind; the next commit brings it up to date, forget() at the latest.
  void mark_stale(Node& node) CFFS_REQUIRES(node.mutex);
  // Called whenever so many more are behind, with a node's mutex held; null: nothing is. By who has the store for itself.
  void on_many_stale(std::size_t many, std::function<void()> tell);
  std::vector<InodeId> take_stale();
  // Those that are behind, and perhaps some that no longer are; none that was taken.
  std::vector<InodeId> stale();
  // Taken, but its row could not be written.
  void still_stale(InodeId ino);
  Status flush(Node& node) CFFS_EXCLUDES(node.mutex, row_stripes);
  // An entry came or went.
  void touch_directory(Node& directory, std::int64_t now_ns) CFFS_EXCLUDES(directory.mutex);
  // Adds the entry to the row; nodes that shared the row with nobody until now learn that they do. Its stripe is held.
  // ENOSPC where too many names have this hash, or too long attributes.
  Status insert_entry(Batch& batch, Key key, Row row, Entry entry) CFFS_REQUIRES(row_stripes);
  // The file's data waits for consolidation: its directory is remembered, in memory and across a crash.
  void note_staged(Batch& batch, Node& node) CFFS_REQUIRES(node.mutex);
  // Writes the batch with the composites' rows that it changes. Emptied composites are queued for removal, wasteful ones
  // told to who compacts. The stripes of all of them are held.
  Status write(Batch& batch, CompositeAccounts& accounts) CFFS_REQUIRES(row_stripes);

 private:
  Result<NodePtr> wake(InodeId ino) const CFFS_EXCLUDES(row_stripes);
  // Null: meanwhile it is gone or elsewhere.
  Result<NodePtr> wake_below(const NodePtr& parent, InodeId ino, const Asleep& at) const
      CFFS_EXCLUDES(row_stripes);
  // What the row says of the name; there is no node in it yet.
  Result<std::optional<Target>> target_of(InodeId parent, std::string_view name, Row* otherwise) const;
  std::optional<Target> seen_and_still_there(const Target& seen) const;
  Status put_whole(Batch& batch, const Node& node, const Inode& whole) const CFFS_REQUIRES_SHARED(node.mutex)
      CFFS_REQUIRES(row_stripes);

  Table& table_;
  RowLocks& locks_;
  NodeTable& nodes_;
  StagedDirectories& staged_;
  FreedComposites& freed_;
  Removals& removals_;
  const NameHash name_hash_;
  Mutex stale_mutex_;  // leaf
  std::vector<InodeId> stale_ CFFS_GUARDED_BY(stale_mutex_);
  std::size_t many_stale_ = 0;
  std::function<void()> tell_many_stale_;
};

}  // namespace cffs
