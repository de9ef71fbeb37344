// Moves files into composites: staged ones that became quiet, and the living members of a wasteful composite.
//
// One relocation: read the files' contents as they are now, append them as records to a composite, sync it,
// then switch the rows in atomic batches. A file that changed between the reading and the switch keeps its
// old home; its record is dead weight, accounted as freed. Nobody waits but for the switch of at most
// kSwitchRows rows.
#pragma once

#include "core/fs/file_system.h"

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

 private:
  struct Member {  // a file to move, as it was when looked at
    Key row_key;
    InodeId parent;
    std::string name;  // in `parent`; the row's own name where row_key is a name row
    Inode inode;
    std::string content;
    std::size_t extent = 0;  // index in the builder
  };
  using Group = std::vector<Member>;
  struct Tail {  // the composite that is being filled
    CompositeId id;
    std::uint64_t bytes = 0;
    std::uint64_t slots = 0;
  };

  std::optional<Member> candidate(Key key, InodeId directory, const Entry& entry) const;
  Result<std::vector<Member>> candidates(InodeId directory, std::int64_t quiet_before_ns,
                                         bool& waiting) const;
  Status move_all(std::vector<Member> members);
  Status write_composite(std::vector<Group> groups, std::size_t& moved);
  Status switch_rows(const CompositeBuilder* builder, std::span<Member> members, bool must_exist,
                     std::size_t& moved);
  Result<bool> read_content(Member& member) const;
  Result<std::optional<Member>> living(const RecordMeta& record, CompositeId id) const;

  FileSystem& fs_;
  std::optional<Tail> tail_;
};

}  // namespace cffs
