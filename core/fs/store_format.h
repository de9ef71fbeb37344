// The superblock: what a store is and was made with. One small checksummed object, written once by format.
#pragma once

#include <string>

#include "core/object/object_store.h"
#include "core/table/name_hash.h"

namespace cffs {

struct StoreFormat {
  std::uint64_t inline_max = 4096;              // T of TableFS, bytes
  std::uint64_t composite_file_max = 1u << 20;  // largest member, bytes
  std::uint64_t composite_max = 4u << 20;       // bytes of a composite before it is full
  std::int64_t created_ns = 0;
  std::string uuid;  // 32 hexadecimal digits
  NameHashId name_hash = NameHashId::xxh3_64;
  // Every byte of an inline file is in a data row, zeros too: a missing one is damage. Stores from before it leave holes out.
  bool dense_inline = true;
  // Quiet blobs are sealed: their rows have checksums (core/fs/blob_sums.h).
  bool blob_checksums = true;
};

// Bytes of file data in one row (docs/ON_DISK_FORMAT.md, "Data rows").
inline constexpr std::uint64_t kChunkBytes = 4096;

// Refuses limits that make no sense, with a sentence that says which.
Status check_format(const StoreFormat& format);
// Makes a store out of an empty ObjectStore. EEXIST where one is already there.
Status write_format(ObjectStore& store, const StoreFormat& format);
// `usage` where this is no store, or one of a newer version or name hash (named).
Result<StoreFormat> read_format(ObjectStore& store);

}  // namespace cffs
