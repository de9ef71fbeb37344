#include "core/fs/store_format.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/table/inode.h"

namespace cffs {
namespace {

constexpr const char* kName = "superblock";
constexpr std::string_view kMagic = "cffs.store\n";
constexpr std::uint32_t kVersion = 1;

// Feature flags. Never renumber. An unknown one makes a program refuse the store.
constexpr std::uint32_t kOtherNameHash =
    1;  // not XXH3-64: for programs from before the superblock named the hash
constexpr std::uint32_t kDenseInline =
    2;  // StoreFormat::dense_inline: programs from before it would leave holes
constexpr std::uint32_t kBlobChecksums =
    4;  // StoreFormat::blob_checksums: programs from before it would change a sealed blob
constexpr std::uint32_t kKnown = kOtherNameHash | kDenseInline | kBlobChecksums;

}  // namespace

Status check_format(const StoreFormat& f) {
  if (f.inline_max < 1 || f.inline_max > (1u << 20)) {
    return fail(Error::usage("--inline-max must be between 1 byte and 1M"));
  }
  if (f.composite_file_max < f.inline_max || f.composite_file_max > kSmallFileMax) {
    return fail(Error::usage("--composite-file-max must be between --inline-max and 64M"));
  }
  if (f.composite_max < f.composite_file_max || f.composite_max > (1u << 30)) {
    return fail(Error::usage("--composite-max must be between --composite-file-max and 1G"));
  }
  return {};
}

Status write_format(ObjectStore& store, const StoreFormat& f) {
  CFFS_TRY_VOID(check_format(f));
  std::string bytes(kMagic);
  ByteWriter w(bytes);
  w.u32(kVersion);
  w.u32((f.name_hash == NameHashId::xxh3_64 ? 0 : kOtherNameHash) | (f.dense_inline ? kDenseInline : 0) |
        (f.blob_checksums ? kBlobChecksums : 0));
  w.u64(f.inline_max);
  w.u64(f.composite_file_max);
  w.u64(f.composite_max);
  w.u64(static_cast<std::uint64_t>(f.created_ns));
  w.string(f.uuid);
  w.u64(checksum(bytes));
  // What came later follows the checksum, with one of its own: older programs stop before it.
  w.u32(static_cast<std::uint32_t>(f.name_hash));
  w.u64(checksum(bytes));
  auto object = store.create(kName, ObjectStore::Create::exclusive);
  if (!object) return fail(object.error());
  CFFS_TRY_VOID((*object)->write_at(0, as_bytes(bytes)));
  return (*object)->sync();
}

Result<StoreFormat> read_format(ObjectStore& store) {
  const std::string where = store.description();
  const auto object = store.open(kName);
  if (!object && object.error().errno_value == ENOENT) {
    return fail(Error::usage(where + " is not a cffs store; make one with: cffs format " + where));
  }
  if (!object) return fail(object.error());
  CFFS_TRY(const ObjectInfo info, (*object)->info());
  std::string bytes(std::min<std::uint64_t>(info.size, 4096), '\0');
  CFFS_TRY(const std::size_t n, (*object)->read_at(0, as_writable_bytes(bytes)));
  bytes.resize(n);
  if (!bytes.starts_with(kMagic)) return fail(Error::usage(where + " is not a cffs store"));
  ByteReader r(std::string_view(bytes).substr(kMagic.size()));
  const std::uint32_t version = r.u32();
  const std::uint32_t features = r.u32();
  if (version > kVersion || (features & ~kKnown) != 0) {
    return fail(Error::usage(where + " has store format " + std::to_string(version) + ", features " +
                             std::to_string(features) + "; this program reads format " +
                             std::to_string(kVersion) + ", use a newer cffs"));
  }
  StoreFormat f;
  f.dense_inline = (features & kDenseInline) != 0;
  f.blob_checksums = (features & kBlobChecksums) != 0;
  f.inline_max = r.u64();
  f.composite_file_max = r.u64();
  f.composite_max = r.u64();
  f.created_ns = static_cast<std::int64_t>(r.u64());
  f.uuid = r.string();
  const auto checked = [&] {
    const std::size_t covered = bytes.size() - r.remaining();
    const std::uint64_t expected = r.u64();
    return r.ok() && checksum(std::string_view(bytes).substr(0, covered)) == expected;
  };
  if (!checked()) return fail(Error::corruption(where + "/superblock: checksum differs"));
  if (!r.at_end()) {  // a superblock from before it named the hash ends here: XXH3-64
    f.name_hash = static_cast<NameHashId>(r.u32());
    if (!checked()) return fail(Error::corruption(where + "/superblock: checksum differs"));
  }
  if (name_hash_of(f.name_hash) == nullptr) {
    return fail(Error::usage(where + " hashes names with hash " +
                             std::to_string(static_cast<std::uint32_t>(f.name_hash)) +
                             ", which this program does not know; use a newer cffs"));
  }
  // Whoever wrote the superblock: sizes that format refuses would have small files loaded whole that are not small.
  if (!check_format(f))
    return fail(Error::corruption(where + "/superblock: its sizes are none that a store has"));
  return f;
}

}  // namespace cffs
