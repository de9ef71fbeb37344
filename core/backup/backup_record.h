// The object `backup` of a store that is a backup: of which store, of which moment, and how its table was left, so that the next
// backup can tell whether it is what it thinks (docs/ON_DISK_FORMAT.md, "The record of a backup").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/object/object_store.h"

namespace cffs {

struct BackupRecord {
  std::string store;                 // the uuid of the store that it is of
  std::int64_t at_ns = 0;            // the moment, by that store's clock
  std::uint64_t unclean_ends = 0;    // of that store until then (core/table/system_rows.h)
  std::uint64_t table = 0;           // table_fingerprint() when it was made
  std::vector<std::string> damaged;  // objects that were copied as damaged as they are: never kept
};

inline constexpr const char* kBackupObject = "backup";

std::string encode_backup_record(const BackupRecord& record);
Result<BackupRecord> decode_backup_record(std::string_view bytes);
// nullopt: the store is no backup. `corruption`: its record is damaged.
Result<std::optional<BackupRecord>> read_backup_record(ObjectStore& store);
// Of names, sizes and the manifest's name: whoever opens the table to write to it changes these.
Result<std::uint64_t> table_fingerprint(ObjectStore& store);

}  // namespace cffs
