// What goes with a name: one of several links, or the file with its last one. unlink and a rename that replaces both do it
// in two steps: into their batch, then, once that is written, to the node.
#pragma once

#include <optional>
#include <string>

#include "core/fs/file_count.h"
#include "core/fs/homes.h"
#include "core/fs/node_rows.h"

namespace cffs {

class LinkDrop {
 public:
  LinkDrop(Homes& homes, const NodeRows& rows, Removals& removals, FileCount& count)
      : homes_(homes), rows_(rows), removals_(removals), count_(count) {}

  // The target's stripes and node are locked. A file's rows and data go, or its link count falls. EMFILE, ENFILE, ENOMEM:
  // who uses the file would lose its data.
  Status build(Batch& batch, CompositeAccounts& accounts, const Target& target, std::int64_t now_ns)
      CFFS_REQUIRES(row_stripes);
  // A directory, found empty, has nothing but its entry, and what its node leaves there.
  Status build_directory(Batch& batch, const Target& target);
  // The batch is written; the locks are still held.
  void finish(const Target& target, std::int64_t now_ns) CFFS_REQUIRES(row_stripes);

 private:
  Status keep_for_users(Batch& batch, CompositeAccounts& accounts, const Target& target)
      CFFS_REQUIRES(row_stripes);
  Status keep_row(Batch& batch, const Target& target);
  Status keep_inline(const Inode& inode);
  Status keep_member(Batch& batch, const Inode& inode);

  Homes& homes_;
  const NodeRows& rows_;
  Removals& removals_;
  FileCount& count_;
  bool last_ = false;
  // Whoever still has the file open keeps its data.
  std::optional<HeldContent> orphan_bytes_;
  std::shared_ptr<Object> pinned_;
  Share pinned_share_;
  RecordPins::Pin pinned_record_;
  bool in_chunks_ = false;     // it stays in the table, or has come there
  bool nameless_row_ = false;  // with it, or with long attributes
  bool lost_ = false;
};

}  // namespace cffs
