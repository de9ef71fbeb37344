// How composites are compressed: a store's setting, as a user writes it and as it is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace cffs {

// Never renumber: on disk.
enum class Codec : std::uint8_t { stored = 0, lz4 = 1, zstd = 2 };

struct Compression {
  Codec codec = Codec::stored;
  std::uint8_t level = 0;  // of zstd, 1 to 19; else 0
  friend bool operator==(const Compression&, const Compression&) = default;
};

inline constexpr std::uint8_t kUsualZstdLevel = 3, kMostZstdLevel = 19;

// "zstd", "zstd:9", "lz4", "none". `usage` for anything else.
Result<Compression> parse_compression(std::string_view text);
std::string compression_text(const Compression& compression);

// Two bytes, as the table's row and a packed composite have them. `corruption`: no such codec or level.
std::string encode_compression(const Compression& compression);
Result<Compression> decode_compression(std::string_view bytes);

}  // namespace cffs
