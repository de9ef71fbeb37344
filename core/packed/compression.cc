#include "core/packed/compression.h"

#include <charconv>

namespace cffs {
namespace {

bool is_possible(const Compression& c) {
  if (c.codec == Codec::zstd) return c.level >= 1 && c.level <= kMostZstdLevel;
  return (c.codec == Codec::stored || c.codec == Codec::lz4) && c.level == 0;
}

}  // namespace

Result<Compression> parse_compression(std::string_view text) {
  if (text == "none") return Compression{};
  if (text == "lz4") return Compression{Codec::lz4, 0};
  if (text == "zstd") return Compression{Codec::zstd, kUsualZstdLevel};
  constexpr std::string_view kWithLevel = "zstd:";
  unsigned level = 0;
  if (text.starts_with(kWithLevel)) {
    const std::string_view digits = text.substr(kWithLevel.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    if (error != std::errc() || end != digits.data() + digits.size()) level = 0;
  }
  if (level < 1 || level > kMostZstdLevel) {
    return fail(Error::command_line(
        "'" + std::string(text) +
        "' is no way to compress: zstd, zstd:1 to zstd:" + std::to_string(kMostZstdLevel) + ", lz4 or none"));
  }
  return Compression{Codec::zstd, static_cast<std::uint8_t>(level)};
}

std::string compression_text(const Compression& compression) {
  switch (compression.codec) {
    case Codec::stored:
      return "none";
    case Codec::lz4:
      return "lz4";
    case Codec::zstd:
      return "zstd:" + std::to_string(compression.level);
  }
  return "unknown";
}

std::string encode_compression(const Compression& compression) {
  return {static_cast<char>(compression.codec), static_cast<char>(compression.level)};
}

Result<Compression> decode_compression(std::string_view bytes) {
  Compression c;
  if (bytes.size() == 2) c = {static_cast<Codec>(bytes[0]), static_cast<std::uint8_t>(bytes[1])};
  if (bytes.size() != 2 || !is_possible(c)) {
    return fail(Error::corruption("how composites are compressed is malformed"));
  }
  return c;
}

}  // namespace cffs
