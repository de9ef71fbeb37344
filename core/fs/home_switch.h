// One batch of switches of where files' data is: what is locked for it, what goes into it, and what follows once it is written.
//
// By one thread. Ranks 3 and 4 (docs/CONCURRENCY.md) are held from its making to its end.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/composite/composite_accounts.h"
#include "core/composite/composite_builder.h"
#include "core/fs/file_to_move.h"
#include "core/fs/homes.h"
#include "core/fs/locking.h"
#include "core/fs/node_rows.h"
#include "core/table/row.h"
#include "core/table/row_locks.h"

namespace cffs {

class CFFS_SCOPED_CAPABILITY HomeSwitch {
 public:
  // Of the engine. All must outlive it.
  struct Parts {
    const StoreFormat& format;
    Table& table;
    RowLocks& locks;
    NodeTable& nodes;
    NodeRows& rows;
    Homes& homes;
    Removals& removals;
  };
  // `builder`: of the composite that files go to, or null. Files, and what their rows name, are locked from here on.
  HomeSwitch(const Parts& parts, const CompositeBuilder* builder, std::span<const FileToMove> files)
      CFFS_ACQUIRE(row_stripes)
          CFFS_NO_THREAD_SAFETY_ANALYSIS  // by a member, which the analysis does not follow
      : parts_(parts),
        builder_(builder),
        stripes_(parts.locks, keys_of(builder, files)),
        live_(nodes_of(parts.nodes, files)),
        nodes_(live_),
        accounts_(parts.table) {}
  ~HomeSwitch() CFFS_RELEASE() CFFS_NO_THREAD_SAFETY_ANALYSIS = default;
  HomeSwitch(const HomeSwitch&) = delete;
  HomeSwitch& operator=(const HomeSwitch&) = delete;

  // The i-th file of those locked goes to where its content is in the composite, or to the table (no builder).
  Status add(std::size_t i, const FileToMove& file, std::uint8_t policy) CFFS_REQUIRES(row_stripes);

  // The i-th file's content is its twin's.
  Status add_to_twin(std::size_t i, const FileToMove& file) CFFS_REQUIRES(row_stripes);

  // Others may share what the i-th file has.
  Status offer(std::size_t i, const FileToMove& file) CFFS_REQUIRES(row_stripes);

  // Says that the sums of the i-th file's blob are there, all of them.
  Status seal(std::size_t i, const FileToMove& file) CFFS_REQUIRES(row_stripes);

  // `first`: nothing was switched to the builder's composite yet.
  Status write(bool first) CFFS_REQUIRES(row_stripes);

  // Nothing was written.
  void give_up();

  std::size_t switched() const { return changed_.size(); }
  // Those that could not share what they were to share; they are where they were.
  const std::vector<std::size_t>& refused() const { return refused_; }

 private:
  static std::vector<Key> keys_of(const CompositeBuilder* builder, std::span<const FileToMove> files);
  static std::vector<NodePtr> nodes_of(NodeTable& table, std::span<const FileToMove> files);

  // Row and node are to be this; `inode` is the node's, or the row's where there is no node.
  void settle(std::size_t i, Entry& entry, Inode inode);

  // The node knows more than its row, where there is one.
  Inode current(std::size_t i, const Entry& entry) const;

  // The entry in its row, to be changed there; null: the file is not what it was when it was looked at.
  Result<Entry*> unchanged(std::size_t i, const FileToMove& file);

  Status leave(Inode& inode);
  Status to_composite(Inode& inode, const Extent& extent, std::uint8_t policy);
  Result<bool> share(Inode& inode, const Extent& extent, const EntryName& at);
  Status to_table(Inode& inode, std::string_view content);

  const Parts parts_;
  const CompositeBuilder* const builder_;
  const RowLocks::Guard stripes_;
  const std::vector<NodePtr> live_;
  const NodeLocks nodes_;
  Batch batch_;
  CompositeAccounts accounts_;
  std::map<Key, Row> rows_;
  std::vector<std::pair<NodePtr, Inode>> changed_;
  std::vector<InodeId> blobs_left_;
  std::vector<InodeId> blobs_made_;
  std::set<InodeId> met_;
  std::vector<std::size_t> refused_;
};

}  // namespace cffs
