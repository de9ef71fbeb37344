// A block of a table file (leveldb/doc/table_format.md): entries in the order of their keys, each with what of its key does not stand in the
// one before it; behind them the block's type and checksum. Whoever wrote it is not trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"

namespace cffs {

inline constexpr std::size_t kBlockTrailer = 5;  // type and checksum behind each block
inline constexpr std::size_t kBlockKeyTail =
    8;  // sequence and type, behind each key but those of the index of filters

inline constexpr std::string_view kFilterKey =
    "filter.leveldb.BuiltinBloomFilter2";  // in the index of filters

enum class BlockCompression : std::uint8_t { none = 0, snappy = 1 };

// `read`: a block with its trailer.
bool has_block_sum(std::string_view read);

// What a block holds, uncompressed, in `buffer` where it has to be. nullopt: LevelDB refuses it by itself, without harm.
// False in `sane`: it must not try.
std::optional<std::string_view> block_contents(std::string_view read, std::string& buffer, bool& sane);

// A varint of at most 32 bits; none: more than any block holds.
inline std::uint64_t entry_length(const char*& at, const char* end) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t v = 0;
  for (unsigned shift = 0; shift < 35 && at < end; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*at++);
    v |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return v <= 0xffffffffu ? v : kNone;
  }
  return kNone;
}

// Whether its contents are entries one behind the other, then the places where keys are whole, each the beginning of an entry, then their
// number. `visit(shared, rest, value)` says whether to go on: so many bytes of an entry's key are the last one's, then come those of `rest`.
// Every block that is read comes by here: no allocation.
template <typename Visit>
bool visit_entries(std::string_view block, std::size_t least_key, Visit visit) {
  constexpr std::size_t kNumber = sizeof(std::uint32_t);
  if (block.size() < kNumber) return false;
  const std::uint64_t restarts = ByteReader(block.substr(block.size() - kNumber)).u32();
  if (restarts == 0 || restarts > (block.size() - kNumber) / kNumber) return false;
  const std::size_t entries = block.size() - (restarts + 1) * kNumber;
  ByteReader places(block.substr(entries));
  std::uint64_t left = restarts;
  std::uint64_t whole_at = places.u32();
  std::uint64_t key_bytes = 0;
  const char* const begin = block.data();
  const char* const end = begin + entries;
  for (const char* at = begin; at < end;) {
    const auto entry_at = static_cast<std::uint64_t>(at - begin);
    const std::uint64_t shared = entry_length(at, end), rest = entry_length(at, end),
                        value = entry_length(at, end);
    const auto room = static_cast<std::uint64_t>(end - at);
    if (shared > key_bytes || rest > room || value > room - rest) return false;
    if (left > 0 && whole_at == entry_at) {
      if (shared != 0) return false;
      whole_at = --left > 0 ? places.u32() : 0;
    }
    key_bytes = shared + rest;
    if (key_bytes < least_key ||
        !visit(shared, std::string_view(at, rest), std::string_view(at + rest, value))) {
      return false;
    }
    at += rest + value;
  }
  return left == 0 || (entries == 0 && restarts == 1 && whole_at == 0);
}

}  // namespace cffs
