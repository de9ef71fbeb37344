// What the backup before this one has, and whether this one's is the same: composites by number, size and every living member's place
// and checksum; blobs by their files' version and, sealed, by every checksum. Nothing is read but rows.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/backup/backup_record.h"
#include "core/object/overlay_store.h"
#include "core/table/inode.h"
#include "core/table/table.h"

namespace cffs {

// The first name in it that is no part of a store; nullopt: there is none.
Result<std::optional<std::string>> stranger_in(ObjectStore& store);

class FormerBackup {
 public:
  // `usage`, with the cure: it is no backup, one of another store, or was written to since.
  static Result<BackupRecord> check(ObjectStore& store, const std::string& where, const std::string& uuid);
  // Reads its rows, without changing it. `corruption`: they are damaged.
  static Result<std::unique_ptr<FormerBackup>> open(ObjectStore& store, BackupRecord record);

  // A number for a member that is the same for the same bytes at the same place.
  static std::uint64_t member_mark(const Inode& inode);
  bool has_member(const Inode& inode) const;
  // The object is there, and as long as it should be.
  bool has_composite(CompositeId id, std::uint64_t size) const;
  // `rows`: of the moment; `unclean_ends`: of the store until then.
  Result<bool> has_blob(const Inode& inode, const TableSnapshot& rows, std::uint64_t unclean_ends) const;

 private:
  FormerBackup(ObjectStore& store, BackupRecord record);
  Status load();
  bool has_object(const std::string& name, std::uint64_t size) const;
  struct Blob {
    std::uint64_t version = 0, size = 0;
    std::int64_t mtime_ns = 0;
    bool sealed = false;
  };
  Result<bool> same_sums(InodeId ino, const TableSnapshot& rows) const;

  ObjectStore& store_;
  const BackupRecord record_;
  const std::unordered_set<std::string> damaged_;
  OverlayStore looked_at_;
  std::unique_ptr<Table> table_;
  std::unordered_map<std::uint64_t, std::uint64_t> composites_;  // sizes by number
  std::unordered_map<InodeId, Blob> blobs_;
  std::vector<std::uint64_t> members_;  // marks, sorted
};

}  // namespace cffs
