// Backup: a copy of one moment of a store, made while it is in use; the copy is a store like any other.
//
// First the moment (core/fs/moment.h), then at leisure: its rows into a new table, and each object that they name, kept from the
// backup before where that has it, else copied, shared with the source where the file systems below can, and held against its
// checksums. When all of it is durable it takes the former one's place (backup_place.h). Damage is copied as it is, with the checksums
// that tell of it, and named; where rows cannot be read, a former backup is not replaced.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/backup/backup_place.h"
#include "core/backup/blob_copies.h"
#include "core/backup/row_copy.h"
#include "core/base/pace.h"
#include "core/reorganise/store_paths.h"

namespace cffs {

struct BackupProgress {
  std::uint64_t files = 0;             // regular ones, of which the copy has the rows
  std::uint64_t copied = 0, kept = 0;  // objects; kept: as the backup before has them
  std::uint64_t shared = 0;            // of those copied: share their blocks with the source
  std::uint64_t bytes = 0;             // written, rows included
  std::uint64_t damaged = 0;           // sentences
  std::uint64_t rows_damaged = 0;  // of these: of rows, so that files may be missing, or as they were earlier
  std::int64_t at_ns = 0;              // the moment; 0: not yet
  std::int64_t paused_us = 0;          // how long changes of large files had to wait for it
};

struct BackupOptions {
  std::uint64_t bytes_per_second = 0;  // 0: as fast as it goes
  std::function<bool()> go_on = [] { return true; };
  std::function<void(const std::string&)> on_damage = [](const std::string&) {};
  std::function<void(const BackupProgress&)> on_progress = [](const BackupProgress&) {};
};

class Backup {
 public:
  Backup(FileSystem& fs, BackupPlace& place, BackupOptions options);

  // Errors: EINTR where it was told to stop; `usage` where the place is refused, nothing was done then; `corruption` where a former
  // backup was not replaced because rows cannot be read; ENOSPC and others of the place. In all of them the former one is as it was.
  Result<BackupProgress> run();

 private:
  // What the copy of one moment is made with.
  struct Work {
    Moment& moment;
    BlobCopies& blobs;
    std::unique_ptr<FormerBackup> former;  // null: none that is any good
    std::unique_ptr<Table> table;          // of the copy
    std::unique_ptr<RowCopy> rows;
  };
  Status look_at_former();
  Status copy_all(Work work);
  Status open_former(Work& work);
  Status copy_rows(Work& work);
  Status keep_blobs(Work& work);
  Status copy_composites(Work& work);
  Status copy_composite(Work& work, CompositeId id, std::uint64_t size);
  Result<bool> is_whole(Work& work, CompositeId id, std::string_view bytes);
  Status name_damaged_members(Work& work, CompositeId id, std::string_view bytes);
  Status copy_blobs(Work& work);
  Status copy_blob(Work& work, const RowCopy::Blob& blob);
  Status check_sums(Work& work, const RowCopy::Blob& blob);
  Status copy_hints();
  Status say_how_packed(Work& work) const;
  Status finish(Work& work);
  // Whether the copy now has the object as the former backup has it.
  Result<bool> keep(const std::string& name);
  std::string path_of(const EntryName& at, InodeId ino);
  void damaged(const std::string& sentence, const std::string& object = {});
  bool spent(std::uint64_t bytes);

  FileSystem& fs_;
  BackupPlace& place_;
  const BackupOptions options_;
  BackupProgress progress_;
  Pace pace_;
  StorePaths paths_;
  std::optional<BackupRecord> record_;  // of the former one
  std::unordered_set<InodeId> kept_blobs_;
  std::vector<std::string> damaged_objects_;
  bool has_packed_ = false;  // composites
};

}  // namespace cffs
