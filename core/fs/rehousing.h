// The engine's side of moving data in the background: looking at files as they are now, and switching where their data is,
// where they have not changed since they were looked at. Consolidation, compaction and regrouping (core/reorganise) know
// nothing else of the engine's state.
//
// A batch switches kRowsAtOnce files, or one group, which stays together whatever its size (grouping::kMostMembers).
//
// A move is: look at files and read their contents, without holding anything; write the contents as records of a composite
// and sync it; then switch the files' rows in one batch. A file that changed in between keeps its old home; its record is
// dead weight, accounted as freed. Readers wait for that batch only. Ranks 3 and 4 (docs/CONCURRENCY.md) are taken here.
//
// What a mover read is damaged, or the medium does not give it (Error::is_damage()): what it is about stays where it is, and keeps nothing
// else from moving.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/fs/file_to_move.h"
#include "core/fs/home_switch.h"
#include "core/fs/homes.h"
#include "core/fs/node_rows.h"
#include "core/fs/renamed_files.h"
#include "core/fs/space_guard.h"
#include "core/table/inode_counter.h"
#include "core/table/row.h"
#include "grouping/policy.h"

namespace cffs {

class Rehousing {
 public:
  Rehousing(const StoreFormat& format, Table& table, RowLocks& locks, NodeTable& nodes, NodeRows& rows,
            Homes& homes, BlobStore& blobs, CompositeStore& composites, InodeCounter& counter,
            Removals& removals, SpaceGuard& space, const RenamedFiles& renamed)
      : format_(format),
        table_(table),
        locks_(locks),
        nodes_(nodes),
        rows_(rows),
        homes_(homes),
        blobs_(blobs),
        composites_(composites),
        counter_(counter),
        removals_(removals),
        space_(space),
        renamed_(renamed) {}

  // --- looking: takes no lock but one node's at a time, for a moment, so it may be outdated when it is used ---
  Key entry_key(InodeId directory, std::string_view name) const { return rows_.entry_key(directory, name); }
  Key entry_key(const EntryName& at) const { return entry_key(at.parent, at.name); }
  Result<Inode> linked_inode(InodeId ino) const { return rows_.linked_inode(ino); }
  // The file of this entry; nullopt: it is gone, or no regular file.
  std::optional<FileToMove> look(Key key, InodeId directory, const Entry& entry) const;
  // The file with this number, at this place or, renamed since, where its node or who noted it says; nullopt: it is gone, or
  // nobody knows where it went.
  Result<std::optional<FileToMove>> find(const EntryName& at, InodeId ino) const;
  // Whether somebody refers to the inode, and where it is then; no name: it is the root, or has no name any more. Wakes it.
  struct Referred {
    bool referred = false;
    std::optional<EntryName> at;
  };
  Referred referred(InodeId ino) const;
  // Reads the content, and long attributes, as they are now. False: the file is gone or has changed its home since.
  Result<bool> read(FileToMove& file) const;
  // The same without the content, for who has it from another file of the record.
  Result<bool> read_attributes(FileToMove& file) const;
  // Of a blob of so many bytes: a large one is looked into, as FileSystem::loads() does, and keeps its holes.
  bool is_worth_a_member(InodeId ino, std::uint64_t bytes, const Compression& how) const;
  // Where the files are now whose subfile this record is, if there are any in this composite; or were in `rows`. Without these, one that
  // is renamed meanwhile may be missed.
  Result<std::vector<FileToMove>> members_of(const RecordMeta& record, CompositeId id,
                                             const TableSnapshot* rows = nullptr) const;
  // Whether a node reads this record, whatever the rows say: of a file without a name, too.
  bool is_in_use(const RecordMeta& record, CompositeId id) const;

  // --- moving ---
  // ENOSPC where so many more bytes might not fit.
  Status reserve(std::uint64_t bytes) { return space_.charge_mover(bytes); }
  // For a move that makes more room than it takes.
  Status reserve_to_give_back(std::uint64_t bytes) { return space_.charge_to_give_back(bytes); }
  // The number of a new composite. Until its first files are switched, recovery removes its object.
  Result<CompositeId> begin_composite();
  // Nothing was switched: its object goes with the next settling of removals.
  void drop_composite(CompositeId id) { removals_.queue_composite(id); }
  struct Switched {
    std::size_t files = 0;
    // The composite lost all its members, and its row, meanwhile: nothing was switched, and nothing may follow.
    bool composite_gone = false;
    std::vector<std::size_t> refused;  // whose `shares_extent` came to nothing: they are where they were
  };
  // The builder's bytes are durable in its composite: the files' rows now say so. `first`: no file was switched to it yet.
  Result<Switched> into_composite(const CompositeBuilder& builder, bool first, grouping::PolicyId policy,
                                  std::span<const FileToMove> files);
  // Files whose content is a member's of another file (their `twin`, which was looked at without locks) share it from now on. Those that
  // have changed since, or whose twin is gone or has enough, are where they were; `left` gets the numbers of the latter.
  Result<std::size_t> into_twins(std::span<const FileToMove> files, std::vector<std::size_t>& left);
  // Others may share the member's content from now on.
  Status offer(const FileToMove& member);
  // Somebody reads the store beside this user of it: no object is replaced.
  bool is_followed() const { return removals_.followed(); }
  // The composite's object is replaced by one that is compressed like that, and has zeros at `zeros`, which nobody may name. Where it
  // is that already, would not shrink, is being filled, is gone meanwhile, or somebody follows the store: false.
  Result<bool> pack(CompositeId id, const Compression& how,
                    std::span<const CompositeStore::Piece> zeros = {});
  // Into the table; those larger than inline_max to blobs, one at a time, while their stripes stay locked. For the policy
  // without composites. Returns how many moved.
  Result<std::size_t> into_table(std::span<const FileToMove> files);
  // Whether the blob has something that the next commit makes durable.
  bool waits_for_commit(InodeId ino) const;
  // Makes a quiet blob's content durable and writes the checksums of it, which its readers then hold it against. False: the file
  // has changed or moved since it was looked at, or `go_on`, asked every MiB, said no.
  Result<bool> seal(const FileToMove& seen, const std::function<bool()>& go_on);

 private:
  HomeSwitch::Parts parts() { return {format_, table_, locks_, nodes_, rows_, homes_, removals_}; }
  bool renew(FileToMove& file) const;
  Result<bool> read_content(FileToMove& file) const;
  Result<bool> is_as_sealed(FileToMove& file, const Object& object) const;
  Result<bool> complete(FileToMove& file) const;
  struct Sought {
    InodeId ino;
    CompositeId composite;
    std::uint32_t slot = 0;
  };
  Result<std::optional<FileToMove>> member_at(const EntryName& at, const Sought& sought,
                                              const TableSnapshot* rows) const;

  const StoreFormat& format_;
  Table& table_;
  RowLocks& locks_;
  NodeTable& nodes_;
  NodeRows& rows_;
  Homes& homes_;
  BlobStore& blobs_;
  CompositeStore& composites_;
  InodeCounter& counter_;
  Removals& removals_;
  SpaceGuard& space_;
  const RenamedFiles& renamed_;
  Mutex seal_mutex_;  // before all locks of the engine: one makes sums at a time
};

}  // namespace cffs
