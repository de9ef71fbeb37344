// Keys of the table: 128 bits, big-endian, so that byte order is numeric order (TableFS §3.2).
//
//   upper 64 bits        lower 64 bits      row
//   directory's inode    hash of the name   directory entry (readdir is one range scan)
//   inode                0                  null-name row: attributes of a hard-linked file (§3.3), or of the root
//   composite's number   0                  the composite's row
//   composite's number   slot + 1           whose the member is: renamed since, or shared (core/table/member_files.h)
//   tag | number         see KeyTag         everything else
//
// The top byte is 0 for the namespace. File data and bookkeeping live under other tags, so that a readdir, or
// a cold `ls -lR`, never drags file bytes along (the weak spot of TableFS, report Fig. 16).
#pragma once

#include <array>
#include <boost/endian/conversion.hpp>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/ids.h"

namespace cffs {

// Never renumber: these bytes are on disk.
// clang-format off
enum class KeyTag : std::uint8_t {
  namespace_ = 0x00,
  namespace_end = 0x01,     // | 0, 0: an empty row that is always there, see namespace_end()
  staged_directory = 0x40,  // | directory's inode, 0: holds small files that wait for consolidation
  pending_removal = 0x41,   // | object's number, kind: an object that no durable row needs (pending_removal.h)
  wasteful_composite = 0x42,  // | composite, 0: half or more of it is freed, it waits for compaction
  document = 0x50,          // | document's inode, 0: what it embeds
  embeds = 0x51,            // | holder's inode, document's inode: files that the holder embeds, says the document
  embedded_by = 0x52,       // | file's inode, rank and holder's inode: who embeds it
  mentions = 0x53,          // | hash of a stem, document's inode: the document refers to such a name
  block_sums = 0x60,        // | file's inode, number of the row: checksums of a sealed blob (block_sums.h)
  content = 0x61,           // | length, checksum of data: a member that has it and may be shared (content_row.h)
  file_data = 0x80,         // | file's inode, chunk number: inline bytes
  system = 0xff,            // | 0, field: one fact about the store (system_rows.h)
};
// clang-format on

struct Key {
  std::uint64_t upper = 0;
  std::uint64_t lower = 0;
  friend auto operator<=>(const Key&, const Key&) = default;

  static Key tagged(KeyTag tag, std::uint64_t number, std::uint64_t lower) {
    return {(std::uint64_t{static_cast<std::uint8_t>(tag)} << 56) | number, lower};
  }
  static Key entry(InodeId directory, std::uint64_t name_hash) { return {directory.value, name_hash}; }
  static Key null_name(InodeId inode) { return {inode.value, 0}; }
  static Key null_name(CompositeId composite) { return {composite.value, 0}; }
  static Key member_files(CompositeId composite, std::uint32_t slot) {
    return {composite.value, std::uint64_t{slot} + 1};
  }
  static Key data(InodeId inode, std::uint64_t chunk) {
    return tagged(KeyTag::file_data, inode.value, chunk);
  }

  // Whoever looks for a row that is not there, as rmdir does for entries, goes over the marks of all rows erased behind the place
  // until the next row that lives. Behind the last directories that is this one, and not the end of all file data ever erased.
  static Key namespace_end() { return tagged(KeyTag::namespace_end, 0, 0); }

  KeyTag tag() const { return static_cast<KeyTag>(upper >> 56); }
  std::uint64_t number() const { return upper & (kInodeLimit - 1); }
};

inline constexpr std::size_t kKeyBytes = 16;

// A key as LevelDB stores it.
class EncodedKey {
 public:
  explicit EncodedKey(Key key) {
    boost::endian::native_to_big_inplace(key.upper);
    boost::endian::native_to_big_inplace(key.lower);
    std::memcpy(bytes_.data(), &key.upper, 8);
    std::memcpy(bytes_.data() + 8, &key.lower, 8);
  }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, kKeyBytes> bytes_;
};

// `bytes` must be kKeyBytes long.
inline Key decode_key(std::string_view bytes) {
  Key key;
  std::memcpy(&key.upper, bytes.data(), 8);
  std::memcpy(&key.lower, bytes.data() + 8, 8);
  boost::endian::big_to_native_inplace(key.upper);
  boost::endian::big_to_native_inplace(key.lower);
  return key;
}

}  // namespace cffs
