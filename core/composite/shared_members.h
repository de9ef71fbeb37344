// Which files share the records of composites: keeps the rows of members' files and of contents true, one batch's changes at a time
// (docs/DEDUPLICATION.md). For CompositeAccounts.
//
// The caller holds a RowLocks guard over Key::null_name(composite) of every composite that is named here, until the batch is written.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/table/content_row.h"
#include "core/table/member_files.h"
#include "core/table/table.h"

namespace cffs {

// Whether the store's row says that files share members, or a content row is there though it does not.
Result<bool> may_share(const Table& table);

class SharedMembers {
 public:
  explicit SharedMembers(Table& table) : table_(table) {}

  // The record was written for this file. Who finds the same content from now on may share it.
  void own(const Extent& extent, InodeId ino);
  // One more file has the content that was seen there. False: it is not there any more, has enough, or has this file; nothing is changed.
  Result<bool> join(const Extent& seen, const MemberFile& file);
  // The same of a record that was written while nobody shared.
  Status offer(const Extent& extent, InodeId ino);
  // It has another place, or another content, from now on. What it has by now counts, whatever the order of these calls.
  void move(const Extent& extent, MemberFile to) { moves_.emplace_back(extent, std::move(to)); }
  void leave(const Extent& extent, InodeId ino) { leaves_.emplace_back(extent, ino); }

  // The rows go into the batch; the extents that are nobody's now.
  Result<std::vector<Extent>> write(Batch& batch);

 private:
  struct Member {
    Extent extent;
    std::vector<MemberFile> files;
    bool has_row = false;
    bool is_new = false;
  };
  void note_content(const Extent& extent, InodeId owner);
  Result<Member*> member(const Extent& extent);
  Result<std::optional<ContentRow>> content(Key key) const;
  static void put(Batch& batch, const Member& member);

  Table& table_;
  std::map<std::pair<CompositeId, std::uint32_t>, Member> members_;
  std::map<Key, ContentRow> contents_;  // new ones
  std::vector<std::pair<Extent, MemberFile>> moves_;
  std::vector<std::pair<Extent, InodeId>> leaves_;
};

}  // namespace cffs
