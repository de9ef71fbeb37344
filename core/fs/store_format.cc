#include "core/fs/store_format.h"

#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/fs/unfinished_format.h"
#include "core/table/inode.h"

namespace cffs {
namespace {

constexpr const char* kName = "superblock";
constexpr const char* kCopy =
    "superblock.copy";  // without it no name could be looked up: it has the hash's key
constexpr std::string_view kMagic = "cffs.store\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostBytes = 16384;     // of a superblock; what lies behind is not read
constexpr std::size_t kFeatureNameMax = 64;   // bytes, as of made_by
constexpr std::size_t kFeatureNamesMax = 96;  // a bit each, three classes
constexpr const char* kProgram = "cffs " CFFS_VERSION;

// Incompatible. Never renumber.
constexpr std::uint32_t kOtherNameHash =
    1;  // not XXH3-64: for programs from before the superblock named the hash
constexpr std::uint32_t kDenseInline =
    2;  // StoreFormat::dense_inline: programs from before it would leave holes
constexpr std::uint32_t kBlobChecksums =
    4;  // StoreFormat::blob_checksums: programs from before it would change a sealed blob
constexpr std::uint32_t kValuesApart =
    8;  // StoreFormat::values_apart: programs from before it take the rows for the data
constexpr std::uint32_t kPackedComposites =
    16;  // StoreFormat::packed_composites: programs from before it take frames for records
constexpr std::uint32_t kSharedMembers =
    32;  // StoreFormat::shared_members: programs from before it would free what others have
constexpr std::uint32_t kLargeMembers =
    64;  // StoreFormat::has_large_members(): programs from before it take the rows of such members for damage
constexpr Features kKnown = {0, 0,
                             kOtherNameHash | kDenseInline | kBlobChecksums | kValuesApart |
                                 kPackedComposites | kSharedMembers | kLargeMembers};

const std::array<FeatureName, 7> kNames = {
    FeatureName{FeatureClass::incompatible, 0, "hash of names"},
    FeatureName{FeatureClass::incompatible, 1, "dense inline data"},
    FeatureName{FeatureClass::incompatible, 2, "blob checksums"},
    FeatureName{FeatureClass::incompatible, 3, "value log"},
    FeatureName{FeatureClass::incompatible, 4, "packed composites"},
    FeatureName{FeatureClass::incompatible, 5, "shared members"},
    FeatureName{FeatureClass::incompatible, 6, "large members"},
};

std::uint32_t bits_of(const Features& features, FeatureClass of) {
  switch (of) {
    case FeatureClass::compatible:
      return features.compatible;
    case FeatureClass::read_only_compatible:
      return features.read_only_compatible;
    case FeatureClass::incompatible:
      return features.incompatible;
  }
  return 0;
}

Features set_in(const StoreFormat& f) {
  Features set = f.unknown;
  if (f.name_hash->id() != NameHashId::xxh3_64) set.incompatible |= kOtherNameHash;
  if (f.dense_inline) set.incompatible |= kDenseInline;
  if (f.blob_checksums) set.incompatible |= kBlobChecksums;
  if (f.values_apart) set.incompatible |= kValuesApart;
  if (f.packed_composites) set.incompatible |= kPackedComposites;
  if (f.shared_members) set.incompatible |= kSharedMembers;
  if (f.has_large_members()) set.incompatible |= kLargeMembers;
  return set;
}

// For messages: a name may have come from anywhere.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kFeatureNameMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '"'; });
}

// "blob checksums" (incompatible feature 4), for each.
std::string listed(const StoreFormat& f, FeatureClass of, const char* class_name) {
  std::string text;
  const std::uint32_t bits = bits_of(f.unknown, of);
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t flag = std::uint32_t{1} << bit;
    if ((bits & flag) == 0) continue;
    if (!text.empty()) text += ", ";
    const auto named = std::find_if(f.feature_names.begin(), f.feature_names.end(),
                                    [&](const FeatureName& n) { return n.of == of && n.bit == bit; });
    if (named != f.feature_names.end()) {
      text += '"';
      text += named->name;
      text += "\" (";
    }
    text += class_name;
    text += " feature ";
    text += std::to_string(flag);
    if (named != f.feature_names.end()) text += ')';
  }
  return text;
}

std::string newer_cure(const StoreFormat& f) {
  if (f.made_by.empty() || f.made_by == kProgram) return "use a newer cffs";
  return "it was made by " + f.made_by + ": use that or a newer one";
}

void write_names(ByteWriter& w, const StoreFormat& f, const Features& set) {
  std::vector<FeatureName> names(kNames.begin(), kNames.end());
  std::erase_if(names, [&](const FeatureName& n) { return (bits_of(set, n.of) >> n.bit & 1) == 0; });
  for (const FeatureName& name : f.feature_names) {
    if ((bits_of(f.unknown, name.of) >> name.bit & 1) != 0) names.push_back(name);
  }
  w.varint(names.size());
  for (const FeatureName& name : names) {
    w.u8(static_cast<std::uint8_t>(name.of));
    w.u8(name.bit);
    w.string(name.name);
  }
}

// One superblock being read: fields, and after each stretch of them the checksum of all before it.
class Superblock {
 public:
  Superblock(std::string bytes, std::string where)
      : bytes_(std::move(bytes)),
        where_(std::move(where)),
        r_(std::string_view(bytes_).substr(kMagic.size())) {}

  Result<StoreFormat> read() {
    const std::uint32_t version = r_.u32();
    Features features;
    features.incompatible = r_.u32();
    // What follows keeps its order in all versions, so that what is unknown can be named.
    const Status fields = read_fields(features);
    format_.unknown = {features.compatible & ~kKnown.compatible,
                       features.read_only_compatible & ~kKnown.read_only_compatible,
                       features.incompatible & ~kKnown.incompatible};
    format_.dense_inline = (features.incompatible & kDenseInline) != 0;
    format_.blob_checksums = (features.incompatible & kBlobChecksums) != 0;
    format_.values_apart = (features.incompatible & kValuesApart) != 0;
    format_.packed_composites = (features.incompatible & kPackedComposites) != 0;
    format_.shared_members = (features.incompatible & kSharedMembers) != 0;
    if (version > kVersion) {
      return refused("has store format " + std::to_string(version) + "; " + kProgram + " reads format " +
                     std::to_string(kVersion));
    }
    if (!fields) return fail(fields.error());
    if (format_.unknown.incompatible != 0) {
      return refused("needs " + listed(format_, FeatureClass::incompatible, "incompatible") + ", which " +
                     kProgram + " does not know");
    }
    if (!known(hash_)) {
      return refused("hashes names with hash " + std::to_string(static_cast<std::uint32_t>(hash_)) +
                     ", which " + kProgram + " does not know");
    }
    // Whoever wrote it: with sizes that format refuses, files would be read whole that are not small.
    if (!check_format(format_)) {
      return fail(Error::corruption(where_ + "/superblock: its sizes are none that a store has"));
    }
    format_.name_hash = hash_ == NameHashId::siphash_2_4 ? NameHash::keyed(key_) : NameHash::unkeyed();
    return std::move(format_);
  }

 private:
  tl::unexpected<Error> refused(const std::string& why) const {
    std::string said = where_;
    said += ' ';
    said += why;
    said += "; ";
    said += newer_cure(format_);
    return fail(Error::usage(said));
  }

  Status read_fields(Features& features) {
    format_.made_by.clear();
    format_.inline_max = r_.u64();
    format_.composite_file_max = r_.u64();
    format_.composite_max = r_.u64();
    format_.created_ns = static_cast<std::int64_t>(r_.u64());
    format_.uuid = r_.string();
    CFFS_TRY_VOID(checked());
    const bool named = (features.incompatible & kOtherNameHash) != 0;
    if (r_.at_end() && !named) return {};  // from before it named the hash: XXH3-64
    hash_ = static_cast<NameHashId>(r_.u32());
    CFFS_TRY_VOID(checked());
    // From before there were keys, and flags of three classes.
    if (r_.at_end() && hash_ != NameHashId::siphash_2_4) return {};
    const std::string_view made_by = r_.string();
    for (std::uint8_t& byte : key_) byte = r_.u8();
    Features others;
    others.compatible = r_.u32();
    others.read_only_compatible = r_.u32();
    std::vector<FeatureName> names = read_names();
    CFFS_TRY_VOID(checked());
    features.compatible = others.compatible;
    features.read_only_compatible = others.read_only_compatible;
    format_.feature_names = std::move(names);
    if (is_plain(made_by)) format_.made_by = made_by;
    return {};  // what follows is of newer programs
  }

  std::vector<FeatureName> read_names() {
    std::vector<FeatureName> names;
    const std::uint64_t count = r_.varint();
    for (std::uint64_t i = 0; i < count && r_.ok(); ++i) {
      const std::uint8_t of = r_.u8();
      const std::uint8_t bit = r_.u8();
      const std::string_view name = r_.string();
      if (of > static_cast<std::uint8_t>(FeatureClass::incompatible) || bit > 31 || !is_plain(name)) continue;
      if (names.size() < kFeatureNamesMax)
        names.push_back({static_cast<FeatureClass>(of), bit, std::string(name)});
    }
    return names;
  }

  Status checked() {
    const std::size_t covered = bytes_.size() - r_.remaining();
    const std::uint64_t expected = r_.u64();
    if (r_.ok() && checksum(std::string_view(bytes_).substr(0, covered)) == expected) return {};
    return fail(Error::corruption(where_ + "/superblock: checksum differs"));
  }

  const std::string bytes_;
  const std::string where_;
  ByteReader r_;
  StoreFormat format_;
  NameHashId hash_ = NameHashId::xxh3_64;
  SipKey key_{};
};

Result<std::string> superblock_bytes(ObjectStore& store, const char* name) {
  CFFS_TRY(const auto object, store.open(name));
  CFFS_TRY(const ObjectInfo info, object->info());
  std::string bytes(std::min<std::uint64_t>(info.size, kMostBytes), '\0');
  CFFS_TRY(const std::size_t n, object->read_at(0, as_writable_bytes(bytes)));
  bytes.resize(n);
  return bytes;
}

Result<StoreFormat> read_superblock(ObjectStore& store, const char* name) {
  const std::string where = store.description();
  auto bytes = superblock_bytes(store, name);
  if (!bytes && bytes.error().errno_value == ENOENT) {
    CFFS_TRY(const bool is_begun, store.exists(kUnfinishedSuperblock));
    // A directory that holds files already is not to become one.
    Error none = Error::usage(
        is_begun
            ? where + " was not made to its end; the same cffs format, or salvage, again makes it"
            : where + " is not a cffs store; " +
                  (where.starts_with("rados:") ? "make one with: cffs format " + where
                                               : "cffs format makes one of a new or an empty directory"));
    none.errno_value = ENOENT;
    return fail(std::move(none));
  }
  if (!bytes) return fail(bytes.error());
  if (!bytes->starts_with(kMagic)) {
    Error none = Error::usage(where + " is not a cffs store");
    none.errno_value = ENOENT;
    return fail(std::move(none));
  }
  return Superblock(std::move(*bytes), where).read();
}

// Missing, not what was written, or on a sector that cannot be read; unlike one of a newer version.
bool is_lost(const Error& error) { return error.is_damage() || error.errno_value == ENOENT; }

Status write_superblock(ObjectStore& store, const char* name, std::string_view bytes,
                        ObjectStore::Create how) {
  CFFS_TRY(const auto object, store.create(name, how));
  CFFS_TRY_VOID(object->write_at(0, as_bytes(bytes)));
  return object->sync();
}

}  // namespace

StoreFormat usual_format(const Compression& how) {
  StoreFormat format;
  format.compression = how;
  if (how.codec == Codec::stored) return format;
  format.composite_file_max = kMemberMax;
  format.composite_max = 8u << 20;
  return format;
}

Status check_format(const StoreFormat& f) {
  if (f.inline_max < 1 || f.inline_max > (1u << 20)) {
    return fail(Error::command_line("--inline-max must be between 1 byte and 1M"));
  }
  if (f.composite_file_max < f.inline_max || f.composite_file_max > kMemberMax) {
    return fail(Error::command_line("--composite-file-max must be between --inline-max and 128M"));
  }
  if (f.composite_max < f.inline_max || f.composite_max > (1u << 30)) {
    return fail(Error::command_line("--composite-max must be between --inline-max and 1G"));
  }
  return {};
}

Status write_format(ObjectStore& store, const StoreFormat& f) {
  CFFS_TRY_VOID(check_format(f));
  CFFS_INVARIANT(f.name_hash.has_value());
  const Features set = set_in(f);
  std::string bytes(kMagic);
  ByteWriter w(bytes);
  w.u32(kVersion);
  w.u32(set.incompatible);
  w.u64(f.inline_max);
  w.u64(f.composite_file_max);
  w.u64(f.composite_max);
  w.u64(static_cast<std::uint64_t>(f.created_ns));
  w.string(f.uuid);
  w.u64(checksum(bytes));
  // What came later follows the checksum, with one of its own: older programs stop before it.
  w.u32(static_cast<std::uint32_t>(f.name_hash->id()));
  w.u64(checksum(bytes));
  w.string(f.made_by);
  for (const std::uint8_t byte : f.name_hash->key()) w.u8(byte);
  w.u32(set.compatible);
  w.u32(set.read_only_compatible);
  write_names(w, f, set);
  w.u64(checksum(bytes));
  CFFS_TRY(const bool taken, store.exists(kName));
  if (taken) return fail(EEXIST, store.description());
  CFFS_TRY_VOID(write_superblock(store, kCopy, bytes, ObjectStore::Create::truncate));
  // Whole, or not there: a rename makes it one, and takes the mark of a store in the making away.
  CFFS_TRY_VOID(write_superblock(store, kUnfinishedSuperblock, bytes, ObjectStore::Create::truncate));
  CFFS_TRY_VOID(store.rename(kUnfinishedSuperblock, kName));
  return store.sync_names();
}

Result<StoreFormat> read_begun_format(ObjectStore& store) {
  return read_superblock(store, kUnfinishedSuperblock);
}

Result<StoreFormat> read_format(ObjectStore& store) {
  auto format = read_superblock(store, kName);
  if (format || !is_lost(format.error()) || !read_superblock(store, kCopy)) return format;
  CFFS_TRY(const bool is_begun, store.exists(kUnfinishedSuperblock));
  if (is_begun) return format;  // it is none yet
  const auto bytes = superblock_bytes(store, kName);
  if (!bytes && bytes.error().kind == ErrorKind::corruption) {  // what no store has stands in its place
    return fail(
        Error::corruption(bytes.error().context + "; then cffs fsck --repair puts the superblock back"));
  }
  return fail(
      Error::corruption(store.description() + "/" + kName +
                        " is missing or damaged, and its copy is whole; nothing was changed, and cffs fsck "
                        "--repair puts it back"));
}

Status check_format_copy(ObjectStore& store) {
  const auto copy = read_superblock(store, kCopy);
  CFFS_TRY(const bool there, store.exists(kCopy));  // stores from before there was one have none
  if (copy || !there || !is_lost(copy.error())) return {};
  return fail(Error::corruption("superblock.copy is damaged"));
}

Result<bool> restore_format(ObjectStore& store) {
  const auto format = read_superblock(store, kName);
  if (!format && !is_lost(format.error())) return false;  // of a newer version
  CFFS_TRY(const bool is_begun, store.exists(kUnfinishedSuperblock));
  if (!format && is_begun) return false;
  const bool copy_is_whole = read_superblock(store, kCopy).has_value();
  if (format ? check_format_copy(store).has_value() : !copy_is_whole) return false;
  CFFS_TRY(const std::string bytes, superblock_bytes(store, format ? kName : kCopy));
  CFFS_TRY_VOID(write_superblock(store, format ? kCopy : kName, bytes, ObjectStore::Create::truncate));
  return true;
}

Status check_changeable(const StoreFormat& f, const std::string& store) {
  if (f.unknown.read_only_compatible == 0) return {};
  std::string said = store;
  said += " has ";
  said += listed(f, FeatureClass::read_only_compatible, "read-only compatible");
  said += ", which ";
  said += kProgram;
  said +=
      " does not know: it may only be looked at (mount -o ro, dump, stat, export, fsck without --repair); ";
  said += newer_cure(f);
  return fail(Error::usage(said));
}

}  // namespace cffs
