// Keeps the rows of composites true: live and freed bytes, members, size; and whose the members are.
//
// Collects the changes of one batch, then writes the rows into it. The caller holds a RowLocks guard over
// Key::null_name(composite) of every composite it names here.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/composite/composite_builder.h"
#include "core/composite/shared_members.h"
#include "core/table/pending_removal.h"
#include "core/table/table.h"

namespace cffs {

class CompositeAccounts {
 public:
  explicit CompositeAccounts(Table& table) : table_(table), shared_(table) {}

  // The extent's bytes are no longer this file's.
  void free(const Extent& extent, InodeId ino);
  // The extent's bytes became a member's. `inode` widens what the composite's row says about its members.
  void add(const Extent& extent, const Inode& inode, std::uint8_t policy);
  // The same of a member that is there: this file, at this place, shares it. False: it cannot, as of SharedMembers::join().
  Result<bool> share(const Extent& seen, const Inode& inode, const EntryName& at);
  // Others may share the member's content from now on, where it is still this file's.
  Status offer(const Extent& extent, InodeId ino) { return shared_.offer(extent, ino); }
  // The member's file has another place from now on.
  void move(const Extent& extent, InodeId ino, EntryName to);
  // The extent was written, but nobody came to own it.
  void waste(const Extent& extent);
  // The object grew to this many bytes and records.
  void grow(CompositeId id, std::uint64_t object_bytes, std::uint64_t slots);

  struct Outcome {
    std::vector<CompositeId> emptied;   // row erased; the batch says that the object is to be removed
    std::vector<CompositeId> wasteful;  // half or more of the object is freed: worth a compaction
    std::vector<std::pair<CompositeId, std::uint64_t>> freed;  // bytes, of those that are not empty
  };
  Result<Outcome> write(Batch& batch);

 private:
  struct Change {
    std::int64_t live = 0, freed = 0, members = 0;
    std::uint64_t size = 0, slots = 0;  // 0: unchanged
    mode_t mode = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    bool has_owner = false;
    std::uint8_t policy = 0;
    std::vector<std::uint32_t> moved_slots_gone;
  };
  void forget(const Extent& extent);
  Status write_shares(Batch& batch);

  Table& table_;
  SharedMembers shared_;  // where files may share members
  std::map<Key, EntryName> moved_;  // where they may not
  std::map<CompositeId, Change> changes_;
};

}  // namespace cffs
