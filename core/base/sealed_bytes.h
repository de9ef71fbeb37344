// The frame of a small object: a magic that says what it is, a format, fields, and a checksum of all that at the end. Whoever reads one
// tells a stranger from a damaged one only by what its caller makes of both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace cffs {

// Begins one; its fields follow, then seal().
inline std::string begin_sealed(std::string_view magic, std::uint32_t format) {
  std::string bytes(magic);
  ByteWriter(bytes).u32(format);
  return bytes;
}

inline void seal(std::string& bytes) {
  const std::uint64_t sum = checksum(bytes);
  ByteWriter(bytes).u64(sum);
}

// Its format and fields; nullopt: it has not this magic, or not its checksum.
inline std::optional<std::string_view> unsealed(std::string_view bytes, std::string_view magic) {
  constexpr std::size_t kFormat = sizeof(std::uint32_t), kSum = sizeof(std::uint64_t);
  if (bytes.size() < magic.size() + kFormat + kSum || !bytes.starts_with(magic)) return {};
  const std::string_view summed = bytes.substr(0, bytes.size() - kSum);
  if (ByteReader(bytes.substr(summed.size())).u64() != checksum(summed)) return {};
  return summed.substr(magic.size());
}

}  // namespace cffs
