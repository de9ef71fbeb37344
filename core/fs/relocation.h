// Moves files into composites: staged ones that became quiet, and the living members of a wasteful composite.
//
// One relocation: read the files' contents as they are now, append them as records to a composite, sync it,
// then switch the rows in atomic batches. A file that changed between the reading and the switch keeps its
// old home; its record is dead weight, accounted as freed. A group is switched in one batch, so after a crash it is
// together or where it was. Nobody waits but for the switch of a batch: kSwitchRows rows, or one group.
//
// Under the policies reference and frequency a file that became quiet is not alone: what belongs with it is brought
// along, from wherever it lies (affiliation.cc).
#pragma once

#include "core/fs/reference_index.h"

namespace cffs {

class Relocation {
 public:
  static constexpr std::size_t kSwitchRows = 256;

  explicit Relocation(FileSystem& fs) : fs_(fs) {}

  // The small files of these directories that changed last before `quiet_before_ns`; with a policy without
  // composites, small blobs go into the table instead. In `waiting`: directories to look at again.
  Status consolidate(const std::vector<InodeId>& directories, std::int64_t quiet_before_ns,
                     std::vector<InodeId>& waiting);
  // Rewrites the living members elsewhere; the emptied composite goes away.
  Status compact(CompositeId id);

  struct Member {  // a file to move, as it was when looked at
    Key row_key;
    InodeId parent;
    std::string name;  // in `parent`; the row's own name where row_key is a name row
    Inode inode;
    std::string content;
    std::size_t extent = 0;  // index in the builder
  };
  using Group = std::vector<Member>;
  // The small file at this place, whatever its home; nullopt: it is gone, is another one, or has grown.
  Result<std::optional<Member>> locate(const StoreTree::Place& place, std::uint64_t file) const;
  // Its content as it is now. False: the file is gone or has changed its home since.
  Result<bool> read_content(Member& member) const;
  // Members with their contents; counts in `moved` those that were switched.
  Status write_composite(std::vector<Group> groups, std::size_t& moved);
  // Into the table, or to a blob where it is too large: for the policy without composites.
  Status leave_composite(Member member, std::size_t& moved);
  void use_policy(std::shared_ptr<const grouping::Policy> policy) { policy_ = std::move(policy); }

 private:
  struct Tail {  // the composite that is being filled
    CompositeId id;
    std::uint64_t bytes = 0;
    std::uint64_t slots = 0;
  };

  std::optional<Member> candidate(Key key, InodeId directory, const Entry& entry, bool any_home) const;
  Result<std::vector<Member>> candidates(InodeId directory, std::int64_t quiet_before_ns,
                                         bool& waiting) const;
  Status move_all(std::vector<Member> members, std::int64_t quiet_before_ns);
  Status switch_rows(const CompositeBuilder* builder, std::span<Member> members, bool must_exist,
                     std::size_t& moved);
  Result<std::optional<Member>> living(const RecordMeta& record, CompositeId id) const;

  // affiliation.cc: groups that the policy makes of these files and others that it adds to them.
  class Affiliation;
  Result<std::vector<grouping::Group>> affiliate(std::vector<Member>& ready, std::int64_t quiet_before_ns);

  FileSystem& fs_;
  std::shared_ptr<const grouping::Policy> policy_;  // of this pass
  std::optional<Tail> tail_;
  bool tail_vanished_ =
      false;  // members were to follow others that all went meanwhile: they are where they were
};

}  // namespace cffs
