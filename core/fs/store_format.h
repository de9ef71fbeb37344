// The superblock: what a store is and was made with. One small checksummed object, written once by format and never again: what
// a newer program put there stays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/object/object_store.h"
#include "core/packed/compression.h"
#include "core/table/inode.h"
#include "core/table/name_hash.h"

namespace cffs {

// What a program must know to use a store, in three classes, as of ext4: what it does not know, it
enum class FeatureClass : std::uint8_t {  // never renumber: on disk
  compatible = 0,                         // ignores
  read_only_compatible = 1,               // must not change the store for, and may look
  incompatible = 2,                       // must not even look for
};
struct Features {
  std::uint32_t compatible = 0;
  std::uint32_t read_only_compatible = 0;
  std::uint32_t incompatible = 0;
  friend bool operator==(const Features&, const Features&) = default;
};

// A flag's name, kept in the superblock so that programs from before it can say what they do not know.
struct FeatureName {
  FeatureClass of = FeatureClass::compatible;
  std::uint8_t bit = 0;  // 0 to 31
  std::string name;
  friend bool operator==(const FeatureName&, const FeatureName&) = default;
};

struct StoreFormat {
  std::uint64_t inline_max = 4096;              // T of TableFS, bytes
  std::uint64_t composite_file_max = 1u << 20;  // largest member, bytes
  std::uint64_t composite_max =
      4u << 20;  // bytes of a composite before it is full; a larger member is alone in one
  std::int64_t created_ns = 0;
  std::string uuid;  // 32 hexadecimal digits
  // A store has one. To FileSystem::format none means a new key.
  std::optional<NameHash> name_hash;
  // Every byte of an inline file is in a data row, zeros too: a missing one is damage. Stores from before it leave holes out.
  bool dense_inline = true;
  // Quiet blobs are sealed: their rows have checksums (core/fs/blob_sums.h).
  bool blob_checksums = true;
  // Rows of file data may name bytes in a value log (core/table/value_log.h).
  bool values_apart = true;
  // Composites may be packed (docs/COMPRESSION.md).
  bool packed_composites = true;
  // Files may share members of composites (docs/DEDUPLICATION.md).
  bool shared_members = true;
  // Whether those of a new store do; later its table says so (FileSystem::dedupe()). Not in the superblock.
  bool dedupe = false;
  // It may have members that programs from before there were such take for damage.
  bool has_large_members() const { return composite_file_max > kSmallFileMax; }
  // How a new store packs them; later its table says so (FileSystem::compress()). Not in the superblock.
  Compression compression;
  std::string made_by = "cffs " CFFS_VERSION;  // empty: before it was noted
  // Those that this program does not know, and the names of all.
  Features unknown;
  std::vector<FeatureName> feature_names;
};

// What a new store has where nobody says otherwise: of a compressed one composites and members are larger, since what they take on
// the medium is a fraction of it (docs/adr/0046-dictionaries-and-larger-composites.md).
StoreFormat usual_format(const Compression& how);

// Bytes of file data in one row (docs/ON_DISK_FORMAT.md, "Data rows").
inline constexpr std::uint64_t kChunkBytes = 4096;

// Refuses limits that make no sense, with a sentence that says which.
Status check_format(const StoreFormat& format);
// Makes a store out of an empty ObjectStore. EEXIST where one is already there.
Status write_format(ObjectStore& store, const StoreFormat& format);
// `usage` where this is no store, or one that this program must not look at: of a newer version, an unknown name hash, an
// unknown incompatible feature. The sentence names it, and who made the store.
// Where it is missing or damaged and its copy is whole: `corruption`, with the cure.
Result<StoreFormat> read_format(ObjectStore& store);
// The same of a store that is being made: by the mark that stands where its superblock will.
Result<StoreFormat> read_begun_format(ObjectStore& store);
// `corruption` where the superblock's copy is damaged.
Status check_format_copy(ObjectStore& store);
// Puts back the superblock from its copy, or the copy from it, whichever is damaged. False: neither was, or both are.
Result<bool> restore_format(ObjectStore& store);
// `usage` where this program may only look at the store.
Status check_changeable(const StoreFormat& format, const std::string& store);

}  // namespace cffs
